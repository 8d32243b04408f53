#include "kernels/moments.hpp"

#include <cmath>
#include <cstddef>

#include "kernels/shapes.hpp"

namespace penstock::kernels {
namespace {

// Four pixels at once: sums that do not wait for one another, which a compiler may keep in vectors.
constexpr std::size_t lanes = 12;

struct Sums {
    std::array<double, lanes> cubes{}, fourths{};
};

void add_row(const float* row, std::size_t numbers, const std::array<double, lanes>& mean, Sums& sums) {
    std::size_t j = 0;
    for (; j + lanes <= numbers; j += lanes) {
        for (std::size_t k = 0; k < lanes; ++k) {
            const double off = static_cast<double>(row[j + k]) - mean[k], square = off * off;
            sums.cubes[k] += square * off;
            sums.fourths[k] += square * square;
        }
    }
    for (std::size_t k = 0; j + k < numbers; ++k) {
        const double off = static_cast<double>(row[j + k]) - mean[k], square = off * off;
        sums.cubes[k] += square * off;
        sums.fourths[k] += square * square;
    }
}

double over_channel(const std::array<double, lanes>& sums, std::size_t channel) {
    return (sums[channel] + sums[channel + 3]) + (sums[channel + 6] + sums[channel + 9]);
}

}  // namespace

ChannelMoments moments(view<const float, 2> image, const ChannelStatistics& statistics) {
    need_rows("moments", "image", image);
    std::array<double, lanes> mean;
    for (std::size_t k = 0; k < lanes; ++k) mean[k] = statistics.mean[k % 3];
    Sums sums;
    for (std::size_t i = 0; i < image.extent(0); ++i) add_row(image.row(i).data(), image.extent(1), mean, sums);
    ChannelMoments found;
    found.mean = statistics.mean;
    const auto pixels = static_cast<double>(statistics.pixels);
    for (std::size_t c = 0; c < 3; ++c) {
        const double variance = statistics.variance(c);
        found.deviation[c] = std::sqrt(variance);
        if (variance <= 0) continue;
        found.skewness[c] = over_channel(sums.cubes, c) / pixels / (variance * found.deviation[c]);
        found.kurtosis[c] = over_channel(sums.fourths, c) / pixels / (variance * variance) - 3;
    }
    return found;
}

}  // namespace penstock::kernels
