#include <cstdlib>
#include <utility>

#include "kernels/h264.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/h264_differences.cpp"
#include "kernels/each_target.hpp"

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

Differences differences() noexcept { return plain(std::make_index_sequence<shapes>()); }

}  // namespace penstock::kernels::h264

#endif
