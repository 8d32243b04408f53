// One pixel of RGB to CIELAB, in single precision, with operations that the vectors have too.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace penstock::kernels::lab {

/// XYZ of linear RGB, in parts of the white: the matrix of sRGB with the white D65.
inline constexpr std::array<float, 9> from_rgb = [] {
    constexpr double matrix[9] = {0.412453, 0.357580, 0.180423, 0.212671, 0.715160,
                                  0.072169, 0.019334, 0.119193, 0.950227};
    constexpr double white[3] = {0.95047, 1.0, 1.08883};
    std::array<float, 9> made{};
    for (std::size_t i = 0; i < 9; ++i) made[i] = static_cast<float>(matrix[i] / white[i / 3]);
    return made;
}();

/// Below this part of the white, lightness is a straight line.
inline constexpr float smallest_root = 0.008856f, line_slope = 7.787f, line_start = static_cast<float>(16.0 / 116.0);

/// A first guess of a cube root's inverse from the bits of the number: they are nearly its logarithm, so a third of
/// them, taken from this, is off by 5 % at most. Each step of Newton's method squares the error.
inline constexpr float guess_from = 1.41969e9f, a_third = 1.0f / 3;
inline constexpr int root_steps = 3;

inline float cube_root(float t) noexcept {
    float z = std::bit_cast<float>(
        static_cast<std::int32_t>(guess_from - static_cast<float>(std::bit_cast<std::int32_t>(t)) * a_third));
    for (int step = 0; step < root_steps; ++step) z = z + z * (a_third - t * a_third * (z * z * z));
    // The root is t z^2. One more step, for the root itself, takes back what the rounding of z did.
    const float square = z * z, root = t * square;
    return root - (root * root * root - t) * (square * a_third);
}

/// The linear light of each sRGB byte.
inline const std::array<float, 256>& linear_light() {
    static const std::array<float, 256> table = [] {
        std::array<float, 256> made{};
        for (std::size_t i = 0; i < 256; ++i) {
            const double value = static_cast<double>(i) / 255;
            made[i] = static_cast<float>(value > 0.04045 ? std::pow((value + 0.055) / 1.055, 2.4) : value / 12.92);
        }
        return made;
    }();
    return table;
}

inline float lightness_of(float t) noexcept { return t > smallest_root ? cube_root(t) : line_slope * t + line_start; }

inline void pixel(const std::uint8_t* rgb, const float* light, float* to) noexcept {
    const float r = light[rgb[0]], g = light[rgb[1]], b = light[rgb[2]];
    const auto& m = from_rgb;
    const float x = lightness_of(m[0] * r + m[1] * g + m[2] * b);
    const float y = lightness_of(m[3] * r + m[4] * g + m[5] * b);
    const float z = lightness_of(m[6] * r + m[7] * g + m[8] * b);
    to[0] = 116.0f * y - 16.0f;
    to[1] = 500.0f * (x - y);
    to[2] = 200.0f * (y - z);
}

}  // namespace penstock::kernels::lab
