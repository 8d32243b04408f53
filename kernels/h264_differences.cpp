#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernels/h264.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/h264_differences.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/h264_vectors.hpp"

namespace {

using h264::Pitch;
using h264::Pixel;
using Bytes = hn::FixedTag<std::uint8_t, 16>;

template <int columns>
HWY_INLINE hn::Vec<Bytes> rows_of(const Pixel* from, Pitch pitch) {  // 16 bytes: one row, two or four
    const Bytes d;
    if constexpr (columns == 16) {
        return hn::LoadU(d, from);
    } else if constexpr (columns == 8) {
        const hn::Half<Bytes> half;
        return hn::Combine(d, hn::LoadU(half, from + pitch), hn::LoadU(half, from));
    } else {
        alignas(16) Pixel rows[16];
        for (int row = 0; row < 4; ++row) std::memcpy(rows + 4 * row, from + row * pitch, 4);
        return hn::Load(d, rows);
    }
}

template <int columns, int rows>
std::uint32_t absolute(const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch) {
    constexpr int at_once = 16 / columns;
    const hn::FixedTag<std::uint64_t, 2> sums;
    auto even = hn::Zero(sums), odd = hn::Zero(sums);
    for (int row = 0; row < rows; row += 2 * at_once) {
        even = hn::Add(even, sums_of_differences(rows_of<columns>(a, a_pitch), rows_of<columns>(b, b_pitch)));
        a += at_once * a_pitch, b += at_once * b_pitch;
        if (row + at_once >= rows) break;
        odd = hn::Add(odd, sums_of_differences(rows_of<columns>(a, a_pitch), rows_of<columns>(b, b_pitch)));
        a += at_once * a_pitch, b += at_once * b_pitch;
    }
    return static_cast<std::uint32_t>(hn::GetLane(hn::SumOfLanes(sums, hn::Add(even, odd))));
}

// A row of differences. Of 4 columns two blocks at once: this row, and the fourth behind it or nothing.
template <int columns, int rows, class D>
HWY_INLINE hn::Vec<D> difference(D d, const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch) {
    const hn::Rebind<std::uint8_t, D> bytes;
    if constexpr (columns == 4) {
        alignas(8) Pixel one[8] = {}, other[8] = {};
        std::memcpy(one, a, 4);
        std::memcpy(other, b, 4);
        if constexpr (rows == 8) {
            std::memcpy(one + 4, a + 4 * a_pitch, 4);
            std::memcpy(other + 4, b + 4 * b_pitch, 4);
        }
        return hn::Sub(hn::PromoteTo(d, hn::Load(bytes, one)), hn::PromoteTo(d, hn::Load(bytes, other)));
    } else {
        return hn::Sub(hn::PromoteTo(d, hn::LoadU(bytes, a)), hn::PromoteTo(d, hn::LoadU(bytes, b)));
    }
}

template <class V>
HWY_INLINE void sums_and_differences(V& a, V& b) {
    const V sum = hn::Add(a, b);
    b = hn::Sub(a, b);
    a = sum;
}

template <int columns, int rows>
std::uint32_t transformed(const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch) {
    const hn::CappedTag<std::int16_t, columns == 16 ? 16 : 8> d;
    const hn::RepartitionToWide<decltype(d)> wide;
    auto sum = hn::Zero(d);
    for (int row = 0; row < (columns == 4 ? 4 : rows); row += 4, a += 4 * a_pitch, b += 4 * b_pitch)
        for (int column = 0; column < columns; column += static_cast<int>(hn::Lanes(d))) {
            const auto line = [&](int i) HWY_ATTR {
                return difference<columns, rows>(d, a + i * a_pitch + column, a_pitch, b + i * b_pitch + column,
                                                 b_pitch);
            };
            auto w = line(0), x = line(1), y = line(2), z = line(3);
            sums_and_differences(w, x);
            sums_and_differences(y, z);
            sums_and_differences(w, y);
            sums_and_differences(x, z);
            transpose_blocks(w, x, y, z);
            sums_and_differences(w, x);
            sums_and_differences(y, z);
            // |w + y| + |w - y| is twice the greater of |w| and |y|.
            sum = hn::Add(sum, hn::Add(hn::Max(hn::Abs(w), hn::Abs(y)), hn::Max(hn::Abs(x), hn::Abs(z))));
        }
    auto upper = hn::Zero(wide);
    const auto lower = hn::ReorderWidenMulAccumulate(wide, sum, hn::Set(d, std::int16_t{1}), hn::Zero(wide), upper);
    return static_cast<std::uint32_t>(hn::GetLane(hn::SumOfLanes(wide, hn::Add(lower, upper))));
}

template <std::size_t... s>
std::size_t fill(h264::Differences& table, std::index_sequence<s...>) {
    using h264::Shape;
    table = {{absolute<h264::columns(static_cast<Shape>(s)), h264::rows(static_cast<Shape>(s))>...},
             {transformed<h264::columns(static_cast<Shape>(s)), h264::rows(static_cast<Shape>(s))>...}};
    return 1;
}

}  // namespace

std::size_t fill_differences(h264::Differences* table) {
    return fill(*table, std::make_index_sequence<h264::shapes>());
}

#else

inline std::size_t fill_differences(h264::Differences*) { return 0; }

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace penstock::kernels::h264 {
namespace {

template <int columns, int rows>
std::uint32_t absolute(const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch) {
    std::uint32_t sum = 0;
    for (int row = 0; row < rows; ++row, a += a_pitch, b += b_pitch)
        for (int column = 0; column < columns; ++column)
            sum += static_cast<std::uint32_t>(std::abs(a[column] - b[column]));
    return sum;
}

std::uint32_t transformed_4x4(const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch) {
    int x[4][4];
    for (int row = 0; row < 4; ++row, a += a_pitch, b += b_pitch) {
        const int d0 = a[0] - b[0], d1 = a[1] - b[1], d2 = a[2] - b[2], d3 = a[3] - b[3];
        const int s = d0 + d1, t = d0 - d1, u = d2 + d3, v = d2 - d3;
        x[row][0] = s + u, x[row][1] = s - u, x[row][2] = t - v, x[row][3] = t + v;
    }
    int sum = 0;
    for (int column = 0; column < 4; ++column) {
        const int s = x[0][column] + x[1][column], t = x[0][column] - x[1][column];
        const int u = x[2][column] + x[3][column], v = x[2][column] - x[3][column];
        sum += std::abs(s + u) + std::abs(s - u) + std::abs(t - v) + std::abs(t + v);
    }
    return static_cast<std::uint32_t>(sum);
}

template <int columns, int rows>
std::uint32_t transformed(const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch) {
    std::uint32_t sum = 0;
    for (int row = 0; row < rows; row += 4)
        for (int column = 0; column < columns; column += 4)
            sum += transformed_4x4(a + row * a_pitch + column, a_pitch, b + row * b_pitch + column, b_pitch);
    return sum / 2;
}

template <std::size_t... s>
Differences plain(std::index_sequence<s...>) noexcept {
    return {{absolute<columns(static_cast<Shape>(s)), rows(static_cast<Shape>(s))>...},
            {transformed<columns(static_cast<Shape>(s)), rows(static_cast<Shape>(s))>...}};
}

}  // namespace

Differences differences() noexcept {
    Differences table;
    if (PENSTOCK_PICK(fill_differences)(&table) == 0) table = plain(std::make_index_sequence<shapes>());
    return table;
}

}  // namespace penstock::kernels::h264

#endif
