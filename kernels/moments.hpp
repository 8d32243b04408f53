// Skewness and kurtosis of an image's three channels, beside mean and deviation.
#pragma once

#include <array>

#include "kernels/lab.hpp"
#include "penstock/view.hpp"

namespace penstock::kernels {

/// Four figures a channel. Deviations are divided by the number of pixels; kurtosis is that above a normal
/// distribution's (scipy.stats' definitions, without the correction of bias). Where all pixels are equal, skewness and
/// kurtosis are 0.
struct ChannelMoments {
    std::array<double, 3> mean{}, deviation{}, skewness{}, kurtosis{};
};

/// Of an image with 3 numbers a pixel, whose means and variances are known already (lab.hpp). The last stride must be
/// 1. Sums are held in double precision, in an order that depends on nothing but the shape. Throws
/// std::invalid_argument.
ChannelMoments moments(view<const float, 2> image, const ChannelStatistics& statistics);

}  // namespace penstock::kernels
