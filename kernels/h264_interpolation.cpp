#include <algorithm>

#include "kernels/h264.hpp"

#if !defined(PENSTOCK_KERNELS_H264_PLAIN_INTERPOLATION)
#define PENSTOCK_KERNELS_H264_PLAIN_INTERPOLATION
namespace penstock::kernels::h264 {
Interpolation plain_interpolation() noexcept;
}
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/h264_interpolation.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

namespace {

using h264::Pitch;
using h264::Pixel;
using Words = hn::CappedTag<std::int16_t, 16>;
using Row = hn::Rebind<std::uint8_t, Words>;

/// a - 5 b + 20 c, of sums of two pixels each.
template <class V>
HWY_INLINE V tap(V a, V b, V c) {
    // a - 5 b + 20 c = a - b + 4 (5 c - b)
    const V fives = hn::Sub(hn::Add(c, hn::ShiftLeft<2>(c)), b);
    return hn::Add(hn::Sub(a, b), hn::ShiftLeft<2>(fives));
}

/// The same of words, with 512 more, over 1024, as bytes.
HWY_INLINE hn::Vec<Row> tap_twice(hn::Vec<Words> a, hn::Vec<Words> b, hn::Vec<Words> c) {
    const Words d;
    const hn::RepartitionToWide<Words> wide;
#if HWY_ARCH_X86
    const auto madd = [](auto pairs, auto factors) HWY_ATTR {
        if constexpr (sizeof(pairs) == 32)
            return decltype(hn::BitCast(wide, pairs)){_mm256_madd_epi16(pairs.raw, factors.raw)};
        else return decltype(hn::BitCast(wide, pairs)){_mm_madd_epi16(pairs.raw, factors.raw)};
    };
    const auto ab = hn::BitCast(d, hn::Set(wide, std::int32_t{(-5 << 16) | 1}));
    const auto c1 = hn::BitCast(d, hn::Set(wide, std::int32_t{(512 << 16) | 20}));
    const auto one = hn::Set(d, std::int16_t{1});
    const auto low = hn::Add(madd(hn::InterleaveLower(d, a, b), ab), madd(hn::InterleaveLower(d, c, one), c1));
    const auto up = hn::Add(madd(hn::InterleaveUpper(d, a, b), ab), madd(hn::InterleaveUpper(d, c, one), c1));
    const auto words = hn::ReorderDemote2To(d, hn::ShiftRight<10>(low), hn::ShiftRight<10>(up));
    return hn::DemoteTo(Row(), words);  // packed in the order in which they were interleaved
#else
    const hn::Half<Words> half;
    const auto sum = [&](auto x, auto y, auto z) HWY_ATTR {
        const auto px = hn::PromoteTo(wide, x), py = hn::PromoteTo(wide, y), pz = hn::PromoteTo(wide, z);
        const auto fives = hn::Sub(hn::Add(pz, hn::ShiftLeft<2>(pz)), py);
        return hn::ShiftRight<10>(hn::Add(hn::Add(hn::Sub(px, py), hn::ShiftLeft<2>(fives)), hn::Set(wide, 512)));
    };
    const auto low = hn::DemoteTo(half, sum(hn::LowerHalf(half, a), hn::LowerHalf(half, b), hn::LowerHalf(half, c)));
    const auto up = hn::DemoteTo(half, sum(hn::UpperHalf(half, a), hn::UpperHalf(half, b), hn::UpperHalf(half, c)));
    return hn::DemoteTo(Row(), hn::Combine(d, up, low));
#endif
}

constexpr std::size_t most_columns = 8320;

void halves(const Pixel* from, Pitch pitch, Pixel* right, Pixel* below, Pixel* middle, std::size_t columns) {
    const Words d;
    const Row bytes;
    const std::size_t lanes = hn::Lanes(d);
    const auto row = [&](const Pixel* at) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(bytes, at)); };
    const auto half = hn::Set(d, std::int16_t{16});
    // What is right of the last column, too; the last vector overlaps the one before it.
    alignas(32) std::int16_t down[most_columns + 64];
    const auto each = [&](std::size_t count, auto&& body) HWY_ATTR {
        for (std::size_t x = 0; x < count; x += lanes) body(std::min(x, count - lanes));
    };
    each(columns + 5, [&](std::size_t x) HWY_ATTR {
        const Pixel* const at = from + x - 2;
        hn::StoreU(tap(hn::Add(row(at - 2 * pitch), row(at + 3 * pitch)), hn::Add(row(at - pitch), row(at + 2 * pitch)),
                       hn::Add(row(at), row(at + pitch))),
                   d, down + x);
    });
    each(columns, [&](std::size_t x) HWY_ATTR {
        const auto beside = [&](int by) HWY_ATTR { return row(from + x + by); };
        const auto across =
            tap(hn::Add(beside(-2), beside(3)), hn::Add(beside(-1), beside(2)), hn::Add(beside(0), beside(1)));
        hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<5>(hn::Add(across, half))), bytes, right + x);
        const auto word = [&](std::size_t by) HWY_ATTR { return hn::LoadU(d, down + x + by); };
        const auto here = word(2);
        hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<5>(hn::Add(here, half))), bytes, below + x);
        hn::StoreU(tap_twice(hn::Add(word(0), word(5)), hn::Add(word(1), word(4)), hn::Add(here, word(3))), bytes,
                   middle + x);
    });
}

template <std::size_t columns>
HWY_INLINE void mean_of(const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch, Pixel* to, Pitch to_pitch,
                        int rows) {
    const hn::FixedTag<std::uint8_t, columns> d;
    for (int row = 0; row < rows; ++row, a += a_pitch, b += b_pitch, to += to_pitch)
        hn::StoreU(hn::AverageRound(hn::LoadU(d, a), hn::LoadU(d, b)), d, to);
}

void mean(const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch, Pixel* to, Pitch to_pitch, int columns,
          int rows) {
    if (columns == 16) return mean_of<16>(a, a_pitch, b, b_pitch, to, to_pitch, rows);
    if (columns == 8) return mean_of<8>(a, a_pitch, b, b_pitch, to, to_pitch, rows);
    if (columns == 4) return mean_of<4>(a, a_pitch, b, b_pitch, to, to_pitch, rows);
    h264::plain_interpolation().mean(a, a_pitch, b, b_pitch, to, to_pitch, columns, rows);
}

template <std::size_t columns>
HWY_INLINE void eighths_of(const Pixel* from, Pitch pitch, Pixel* to, Pitch to_pitch, int right, int down, int rows) {
    const hn::FixedTag<std::uint16_t, columns> d;
    const hn::Rebind<std::uint8_t, decltype(d)> bytes;
    const auto factor = [&](int value) HWY_ATTR { return hn::Set(d, static_cast<std::uint16_t>(value)); };
    const auto here = factor((8 - right) * (8 - down)), beside = factor(right * (8 - down)),
               under = factor((8 - right) * down), across = factor(right * down), half = factor(32);
    auto left = hn::PromoteTo(d, hn::LoadU(bytes, from)), next = hn::PromoteTo(d, hn::LoadU(bytes, from + 1));
    for (int row = 0; row < rows; ++row, to += to_pitch) {
        from += pitch;
        const auto lower_left = hn::PromoteTo(d, hn::LoadU(bytes, from)),
                   lower_next = hn::PromoteTo(d, hn::LoadU(bytes, from + 1));
        const auto sum = hn::Add(hn::Add(hn::Mul(here, left), hn::Mul(beside, next)),
                                 hn::Add(hn::Mul(under, lower_left), hn::Mul(across, lower_next)));
        const hn::RebindToSigned<decltype(d)> words;
        hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(words, hn::ShiftRight<6>(hn::Add(sum, half)))), bytes, to);
        left = lower_left, next = lower_next;
    }
}

void eighths(const Pixel* from, Pitch pitch, Pixel* to, Pitch to_pitch, int right, int down, int columns, int rows) {
    if (columns == 8) return eighths_of<8>(from, pitch, to, to_pitch, right, down, rows);
    if (columns == 4) return eighths_of<4>(from, pitch, to, to_pitch, right, down, rows);
    h264::plain_interpolation().eighths(from, pitch, to, to_pitch, right, down, columns, rows);
}

}  // namespace

std::size_t fill_interpolation(h264::Interpolation* table) {
    *table = {halves, mean, eighths};
    return 1;
}

#else

inline std::size_t fill_interpolation(h264::Interpolation*) { return 0; }

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace penstock::kernels::h264 {
namespace {

constexpr int tap(int a, int b, int c, int d, int e, int f) noexcept { return a - 5 * b + 20 * c + 20 * d - 5 * e + f; }
constexpr Pixel pixel(int value) noexcept { return static_cast<Pixel>(std::clamp(value, 0, 255)); }

void halves(const Pixel* from, Pitch pitch, Pixel* right, Pixel* below, Pixel* middle, std::size_t columns) {
    const auto down = [&](Pitch x) {
        return tap(from[x - 2 * pitch], from[x - pitch], from[x], from[x + pitch], from[x + 2 * pitch],
                   from[x + 3 * pitch]);
    };
    int a = down(-2), b = down(-1), c = down(0), d = down(1), e = down(2);
    for (Pitch x = 0; x < static_cast<Pitch>(columns); ++x) {
        const int f = down(x + 3);
        right[x] = pixel((tap(from[x - 2], from[x - 1], from[x], from[x + 1], from[x + 2], from[x + 3]) + 16) >> 5);
        below[x] = pixel((c + 16) >> 5);
        middle[x] = pixel((tap(a, b, c, d, e, f) + 512) >> 10);
        a = b, b = c, c = d, d = e, e = f;
    }
}

void mean(const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch, Pixel* to, Pitch to_pitch, int columns,
          int rows) {
    for (int row = 0; row < rows; ++row, a += a_pitch, b += b_pitch, to += to_pitch)
        for (int column = 0; column < columns; ++column)
            to[column] = static_cast<Pixel>((a[column] + b[column] + 1) / 2);
}

void eighths(const Pixel* from, Pitch pitch, Pixel* to, Pitch to_pitch, int right, int down, int columns, int rows) {
    const int here = (8 - right) * (8 - down), beside = right * (8 - down), under = (8 - right) * down,
              across = right * down;
    for (int row = 0; row < rows; ++row, from += pitch, to += to_pitch)
        for (int x = 0; x < columns; ++x)
            to[x] = static_cast<Pixel>(
                (here * from[x] + beside * from[x + 1] + under * from[x + pitch] + across * from[x + pitch + 1] + 32) /
                64);
}

}  // namespace

Interpolation plain_interpolation() noexcept { return {halves, mean, eighths}; }

Interpolation interpolation() noexcept {
    Interpolation table;
    if (PENSTOCK_PICK(fill_interpolation)(&table) == 0) table = plain_interpolation();
    return table;
}

}  // namespace penstock::kernels::h264

#endif
