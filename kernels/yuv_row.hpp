// One row of YUV to RGB, in the arithmetic of 16 bits that the vectors have too.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock::kernels {

/// How much of each plane goes into each colour. Luminance counts times 2^7 and its factors times 2^14, chrominance 2^8
/// and 2^13: products have 15 + 6 digits behind the point, of which fixed_product() rounds 15 away.
struct YuvFactors {
    std::int16_t black, luminance, red_v, green_u, green_v, blue_u;
};

inline constexpr int yuv_digits = 6;

inline std::int16_t fixed_product(std::int16_t a, std::int16_t b) noexcept {
    return static_cast<std::int16_t>((a * b + (1 << 14)) >> 15);
}

struct Rgb {
    std::uint8_t red, green, blue;
};

inline Rgb rgb_of(std::uint8_t y, std::uint8_t u, std::uint8_t v, const YuvFactors& factors) noexcept {
    const auto times = [](int value, int digits) { return static_cast<std::int16_t>(value * (1 << digits)); };
    const int light = fixed_product(times(y - factors.black, 7), factors.luminance);
    const std::int16_t blueness = times(u - 128, 8), redness = times(v - 128, 8);
    const auto colour = [light](int of_u, int of_v) {
        // As vectors of 16 bits hold it: the sum of the two products is limited, and so is what follows.
        const int sum = std::clamp(light + (of_u + of_v), -32768, 32767);
        return static_cast<std::uint8_t>(
            std::clamp(std::min(sum + (1 << (yuv_digits - 1)), 32767) >> yuv_digits, 0, 255));
    };
    return {colour(0, fixed_product(redness, factors.red_v)),
            colour(fixed_product(blueness, factors.green_u), fixed_product(redness, factors.green_v)),
            colour(fixed_product(blueness, factors.blue_u), 0)};
}

}  // namespace penstock::kernels
