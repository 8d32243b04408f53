#include "kernels/moments.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace {

using penstock::view;
using penstock::kernels::ChannelStatistics;
using penstock::kernels::moments;

// One row of pixels with 1, 2, 3, 10 over and over in the first channel, the same times -2 in the second, and 5 in the
// third.
std::vector<float> pixels(std::size_t count) {
    std::vector<float> made;
    const float values[] = {1, 2, 3, 10};
    for (std::size_t i = 0; i < count; ++i) made.insert(made.end(), {values[i % 4], -2 * values[i % 4], 5.0f});
    return made;
}

TEST(Moments, of_a_few_values_are_what_pencil_and_paper_give) {
    for (const std::size_t count : {4, 8, 44}) {  // fewer than, as many as, and more than fit the vectors
        const auto values = pixels(count);
        ChannelStatistics statistics;
        statistics.pixels = count;
        statistics.mean = {4, -8, 5};
        statistics.squares = {12.5 * static_cast<double>(count), 50.0 * static_cast<double>(count), 0};
        for (const std::size_t rows : {std::size_t{1}, std::size_t{4}}) {
            const auto found = moments(view<const float, 2>{values.data(), {rows, 3 * count / rows}}, statistics);
            EXPECT_DOUBLE_EQ(found.deviation[0], std::sqrt(12.5));
            EXPECT_NEAR(found.skewness[0], 45 / std::pow(12.5, 1.5), 1e-14);
            EXPECT_NEAR(found.skewness[1], -45 / std::pow(12.5, 1.5), 1e-14);
            EXPECT_NEAR(found.kurtosis[0], 348.5 / 156.25 - 3, 1e-14);
            EXPECT_NEAR(found.kurtosis[1], 348.5 / 156.25 - 3, 1e-14);
            EXPECT_EQ(found.mean[2], 5);
            EXPECT_EQ(found.deviation[2], 0);
            EXPECT_EQ(found.skewness[2], 0);
            EXPECT_EQ(found.kurtosis[2], 0);
        }
    }
}

TEST(Moments, of_pixels_that_lie_apart_are_refused) {
    const auto values = pixels(4);
    EXPECT_THROW(moments(view<const float, 2>{values.data(), std::array<std::size_t, 2>{1, 6},
                                              std::array<std::ptrdiff_t, 2>{12, 2}},
                         {}),
                 std::invalid_argument);
}

}  // namespace
