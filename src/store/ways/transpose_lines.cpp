// This file is compiled once for each instruction set: foreach_target.h includes it again, and the part behind
// HWY_ONCE, which picks one of them when the program runs, is read in the last pass only. Of Highway only headers are
// used.
#include <algorithm>

#include "penstock/detail/machine/relax.hpp"
#include "store/ways/ways.hpp"

#if defined(PENSTOCK_HAVE_HIGHWAY)

// Stores of 32 bytes where there is AVX2, else what the compiler may use everywhere: 16 bytes on ARM. More gains
// nothing here.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "store/ways/transpose_lines.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace penstock::transpose_lines::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

inline Store of_element(std::size_t) noexcept { return nullptr; }

#else

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_MAX_BYTES >= 32 && !HWY_HAVE_SCALABLE
constexpr std::size_t blocks = 2;  // of 16 bytes in one register
#else
constexpr std::size_t blocks = 1;
#endif

template <class Lane>
using Half = hn::FixedTag<Lane, 16 / sizeof(Lane)>;
template <class Lane>
using Whole = hn::FixedTag<Lane, blocks * 16 / sizeof(Lane)>;

/// 16 bytes of one row of the source and, in the upper block, of the row that lies `below` bytes behind it.
template <class Lane>
HWY_INLINE hn::Vec<Whole<Lane> > load(const std::byte* from, std::size_t below) {
    const auto upper = hn::LoadU(Half<Lane>{}, reinterpret_cast<const Lane*>(from));
#if HWY_MAX_BYTES >= 32 && !HWY_HAVE_SCALABLE
    return hn::Combine(Whole<Lane>{}, hn::LoadU(Half<Lane>{}, reinterpret_cast<const Lane*>(from + below)), upper);
#else
    static_cast<void>(below);
    return upper;
#endif
}

template <StoreWay way, class Lane>
HWY_INLINE void put(hn::Vec<Whole<Lane> > values, std::byte* to) {
    if constexpr (way == StoreWay::stream) hn::Stream(values, Whole<Lane>{}, reinterpret_cast<Lane*>(to));
    else hn::StoreU(values, Whole<Lane>{}, reinterpret_cast<Lane*>(to));
}

// Each of these fills one register's width of as many rows of the target as 16 bytes of the source have elements.

struct Of16 {
    using Lane = std::uint64_t;
    static constexpr std::size_t bytes = 16;
    template <StoreWay way>
    static HWY_INLINE void square(const std::byte* from, std::size_t pitch, std::byte* to, std::size_t) {
        put<way, Lane>(load<Lane>(from, pitch), to);
    }
};

struct Of8 {
    using Lane = std::uint64_t;
    static constexpr std::size_t bytes = 8;
    template <StoreWay way>
    static HWY_INLINE void square(const std::byte* from, std::size_t pitch, std::byte* to, std::size_t to_pitch) {
        const Whole<Lane> d;
        const auto a = load<Lane>(from, 2 * pitch), b = load<Lane>(from + pitch, 2 * pitch);
        put<way, Lane>(hn::InterleaveLower(d, a, b), to);
        put<way, Lane>(hn::InterleaveUpper(d, a, b), to + to_pitch);
    }
};

struct Of4 {
    using Lane = std::uint32_t;
    static constexpr std::size_t bytes = 4;
    template <StoreWay way>
    static HWY_INLINE void square(const std::byte* from, std::size_t pitch, std::byte* to, std::size_t to_pitch) {
        const Whole<Lane> d;
        const Whole<std::uint64_t> pairs;
        const auto a = load<Lane>(from, 4 * pitch), b = load<Lane>(from + pitch, 4 * pitch);
        const auto c = load<Lane>(from + 2 * pitch, 4 * pitch), e = load<Lane>(from + 3 * pitch, 4 * pitch);
        const auto ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)),
                   ce = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
        put<way, Lane>(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)), to);
        put<way, Lane>(hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)), to + to_pitch);
        const auto up = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b)),
                   vp = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
        put<way, Lane>(hn::BitCast(d, hn::InterleaveLower(pairs, up, vp)), to + 2 * to_pitch);
        put<way, Lane>(hn::BitCast(d, hn::InterleaveUpper(pairs, up, vp)), to + 3 * to_pitch);
    }
};

/// Of the lines that `rows_at_once` rows from `row` on begin with, those `lines_ahead` rows further down; of the first
/// rows, all that come before.
HWY_INLINE void fetch_rows(std::byte* to, std::size_t row, std::size_t rows, std::size_t rows_at_once,
                           std::size_t to_pitch) {
    const std::size_t first = row == 0 ? 0 : ways::lines_ahead;
    const std::size_t end = std::min(ways::lines_ahead + rows_at_once, rows - row);
    for (std::size_t r = first; r < end; ++r) prefetch_write(to + r * to_pitch);
}

template <class Of, StoreWay way>
void store(const Transposition& block) noexcept {
    constexpr std::size_t across = ways::line / Of::bytes, rows_at_once = 16 / Of::bytes, width = blocks * 16;
    const std::size_t from_pitch = block.from_pitch * Of::bytes, to_pitch = block.to_pitch * Of::bytes;
    for (std::size_t column = 0; column < block.columns; column += across) {
        const std::byte* from = block.from + column * from_pitch;
        std::byte* to = block.to + column * Of::bytes;
        for (std::size_t row = 0; row < block.rows; row += rows_at_once, from += 16, to += rows_at_once * to_pitch) {
            if constexpr (way != StoreWay::stream) fetch_rows(to, row, block.rows, rows_at_once, to_pitch);
            for (std::size_t part = 0; part < ways::line; part += width)
                Of::template square<way>(from + part / Of::bytes * from_pitch, from_pitch, to + part, to_pitch);
            if constexpr (way == StoreWay::demote)
                for (std::size_t r = 0; r < rows_at_once; ++r) ways::demote_line(to + r * to_pitch);
        }
    }
}

template <class Of>
void store_by(const Transposition& block, StoreWay way) noexcept {
    if (way == StoreWay::demote) return store<Of, StoreWay::demote>(block);
    if (way == StoreWay::stream) return store<Of, StoreWay::stream>(block);
    store<Of, StoreWay::plain>(block);
}

inline Store of_element(std::size_t bytes) noexcept {
    if (bytes == 4) return store_by<Of4>;
    if (bytes == 8) return store_by<Of8>;
    return bytes == 16 ? store_by<Of16> : nullptr;
}

#endif

}  // namespace penstock::transpose_lines::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::transpose_lines {

Store of_element(std::size_t bytes) noexcept {
#if defined(__x86_64__) && (HWY_TARGETS & HWY_AVX2) != 0 && HWY_STATIC_TARGET != HWY_AVX2
    const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (wide) return N_AVX2::of_element(bytes);
#endif
    return HWY_STATIC_DISPATCH(of_element)(bytes);
}

}  // namespace penstock::transpose_lines
#endif

#else  // without Highway

namespace penstock::transpose_lines {

Store of_element(std::size_t) noexcept { return nullptr; }

}  // namespace penstock::transpose_lines

#endif
