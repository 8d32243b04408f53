// RGB to CIELAB, and the statistics of an image's three channels.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "penstock/view.hpp"

namespace penstock::kernels {

/// lab(i, 3 j .. 3 j + 2) := L*, a*, b* of the pixel rgb(i, 3 j .. 3 j + 2), for sRGB bytes and the white D65 (2
/// degrees), as skimage.color.rgb2lab defines them, from which each is less than 10^-4 away. Both images have the same
/// shape, of 3 numbers a pixel; the last stride of each must be 1. Throws std::invalid_argument.
void rgb_to_lab(view<const std::uint8_t, 2> rgb, view<float, 2> lab);

/// Mean and variance of the channels of an image with three, which can be merged over the image's tiles.
struct ChannelStatistics {
    std::uint64_t pixels = 0;
    std::array<double, 3> mean{};
    std::array<double, 3> squares{};  ///< sums of squared distances from the mean

    /// Of all pixels (divided by their number, as numpy.var does); 0 without any.
    double variance(std::size_t channel) const noexcept {
        return pixels > 0 ? squares[channel] / static_cast<double>(pixels) : 0;
    }
    /// Takes the pixels of another part in, by the formula of Chan, Golub and LeVeque (Technical report 222, Yale,
    /// 1979).
    void merge(const ChannelStatistics& other) noexcept;
};

/// The same, and statistics[0] := those of the result. Sums are held in double precision, as distances from each row's
/// first pixel, in an order that depends on nothing but the shape.
void rgb_to_lab_with_statistics(view<const std::uint8_t, 2> rgb, view<float, 2> lab,
                                std::span<ChannelStatistics> statistics);

}  // namespace penstock::kernels
