#include <algorithm>

#include "kernels/h264.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/h264_interpolation.cpp"
#include "kernels/each_target.hpp"

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

Interpolation interpolation() noexcept { return {halves, mean, eighths}; }

}  // namespace penstock::kernels::h264

#endif
