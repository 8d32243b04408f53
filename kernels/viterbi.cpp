#include "kernels/viterbi.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/viterbi.cpp"
#include "kernels/each_target.hpp"

#if !defined(PENSTOCK_KERNELS_VITERBI_CODE)
#define PENSTOCK_KERNELS_VITERBI_CODE

#include <array>
#include <bit>

namespace penstock::kernels::viterbi::code {

// Of a register whose lowest bit is the newest one. Both polynomials have the newest and the oldest bit: so the four
// branches of the states i and i + 32 to 2 i and 2 i + 1 have the same soft value, with two signs.
inline constexpr unsigned first = 0x6d, second = 0x4f, half = 32;

/// +1 where a branch from state i, given a 0, sends 1, and -1 where it sends 0.
constexpr std::array<std::int16_t, half> signs(unsigned polynomial) {
    std::array<std::int16_t, half> made{};
    for (unsigned i = 0; i < half; ++i) made[i] = std::popcount(2 * i & polynomial) % 2 != 0 ? 1 : -1;
    return made;
}
alignas(64) inline constexpr std::array<std::int16_t, half> first_sign = signs(first), second_sign = signs(second);

}  // namespace penstock::kernels::viterbi::code
#endif

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

using Metric = hn::CappedTag<std::int16_t, 16>;
using MetricVector = hn::Vec<Metric>;

/// a0 b0 a1 b1 ... in two vectors.
HWY_INLINE void interleave(MetricVector a, MetricVector b, MetricVector& low, MetricVector& high) {
    const Metric d;
    const auto lower = hn::InterleaveLower(d, a, b), upper = hn::InterleaveUpper(d, a, b);
#if HWY_TARGET == HWY_AVX2
    low = hn::ConcatLowerLower(d, upper, lower);
    high = hn::ConcatUpperUpper(d, upper, lower);
#else
    low = lower;
    high = upper;
#endif
}

std::size_t viterbi_forward(std::int16_t* metrics, const std::int8_t* soft, std::uint64_t* decisions,
                            std::size_t steps) {
    namespace code = viterbi::code;
    const Metric d;
    const hn::Repartition<std::uint8_t, Metric> bytes;
#if HWY_TARGET == HWY_AVX2
    constexpr std::size_t lanes = 16;
#else
    constexpr std::size_t lanes = 8;
#endif
    constexpr std::size_t groups = code::half / lanes;
    MetricVector now[2 * groups], first[groups], second[groups];
    for (std::size_t g = 0; g < 2 * groups; ++g) now[g] = hn::Load(d, metrics + g * lanes);
    for (std::size_t g = 0; g < groups; ++g) {
        first[g] = hn::Load(d, code::first_sign.data() + g * lanes);
        second[g] = hn::Load(d, code::second_sign.data() + g * lanes);
    }
    const auto zero = hn::Zero(d);
    for (std::size_t step = 0; step < steps; ++step) {
        const auto a = hn::Set(d, soft[2 * step]), b = hn::Set(d, soft[2 * step + 1]);
        MetricVector next[2 * groups];
        for (std::size_t g = 0; g < groups; ++g) {
            const auto branch = hn::Add(hn::Mul(first[g], a), hn::Mul(second[g], b));
            // From i + 32, and how much better it is to come from i: the sign is the decision.
            const auto even = hn::Sub(now[groups + g], branch), odd = hn::Add(now[groups + g], branch);
            const auto even_by = hn::Sub(hn::Add(now[g], branch), even), odd_by = hn::Sub(hn::Sub(now[g], branch), odd);
            interleave(hn::Add(even, hn::Max(even_by, zero)), hn::Add(odd, hn::Max(odd_by, zero)), next[2 * g],
                       next[2 * g + 1]);
            // The higher byte of each has its sign.
            const auto both =
                hn::OddEven(hn::BitCast(bytes, odd_by), hn::ShiftRightLanes<1>(bytes, hn::BitCast(bytes, even_by)));
            const hn::RebindToSigned<decltype(bytes)> signed_bytes;
            const auto mask = hn::Lt(hn::BitCast(signed_bytes, both), hn::Zero(signed_bytes));
            hn::StoreMaskBits(signed_bytes, mask, reinterpret_cast<std::uint8_t*>(decisions + step) + g * lanes / 4);
        }
        for (std::size_t g = 0; g < 2 * groups; ++g) now[g] = next[g];
    }
    for (std::size_t g = 0; g < 2 * groups; ++g) hn::Store(now[g], d, metrics + g * lanes);
    return steps;
}

#else

inline std::size_t viterbi_forward(std::int16_t*, const std::int8_t*, std::uint64_t*, std::size_t) { return 0; }

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace penstock::kernels::viterbi {
namespace {

void step_plainly(Metrics& metrics, const std::int8_t* soft, std::uint64_t& decision) {
    const auto wrapped = [](int value) { return static_cast<std::int16_t>(value); };
    Metrics next;
    std::uint64_t decided = 0;
    for (unsigned i = 0; i < code::half; ++i) {
        const int branch = code::first_sign[i] * soft[0] + code::second_sign[i] * soft[1];
        const int here = metrics.of[i], there = metrics.of[i + code::half];
        const std::int16_t even = wrapped(there - branch), odd = wrapped(there + branch);
        const std::int16_t even_by = wrapped(here + branch - even), odd_by = wrapped(here - branch - odd);
        next.of[2 * i] = wrapped(even + std::max<int>(even_by, 0));
        next.of[2 * i + 1] = wrapped(odd + std::max<int>(odd_by, 0));
        decided |= std::uint64_t{even_by < 0} << (2 * i) | std::uint64_t{odd_by < 0} << (2 * i + 1);
    }
    metrics = next;
    decision = decided;
}

}  // namespace

Metrics Metrics::beginning() noexcept {
    Metrics made;
    std::ranges::fill(made.of, std::int16_t{-4096});  // more than six steps can make up for
    made.of[0] = 0;
    return made;
}

void forward(Metrics& metrics, std::span<const std::int8_t> soft, std::span<std::uint64_t> decisions) {
    if (soft.size() != 2 * decisions.size())
        throw std::invalid_argument("viterbi::forward: each step needs two soft bits and room for a decision");
    std::size_t step = 0;
    if constexpr (std::endian::native == std::endian::little)
        step = PENSTOCK_PICK(viterbi_forward)(metrics.of, soft.data(), decisions.data(), decisions.size());
    for (; step < decisions.size(); ++step) step_plainly(metrics, soft.data() + 2 * step, decisions[step]);
}

void trace(std::span<const std::uint64_t> decisions, std::size_t end, unsigned state, std::size_t known,
           std::span<std::uint64_t> bits) {
    if (end > decisions.size() || (end + 63) / 64 > bits.size() || known > end || state >= states)
        throw std::invalid_argument(
            "viterbi::trace: it goes back from one of 64 states, over decisions, into room for the bits");
    std::uint64_t at = state, word = 0;
    for (std::size_t t = end; t-- > 0;) {
        word = word << 1 | (at & 1);
        at = at >> 1 | (decisions[t] >> at & 1) << 5;
        if (t % 64 != 0) continue;
        // Six bits are a state.
        const bool met = t + 6 <= known && ((bits[t / 64] ^ word) & (states - 1)) == 0;
        bits[t / 64] = word;
        if (met) return;
        word = 0;
    }
}

}  // namespace penstock::kernels::viterbi

#endif
