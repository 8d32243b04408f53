#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/add.hpp"
#include "kernels/correlate.hpp"

namespace {

using penstock::view;
using penstock::kernels::add;
using penstock::kernels::correlate;

constexpr float untouched = -77.0f;

std::vector<float> random_values(std::size_t count, unsigned seed) {
    std::mt19937 generator{seed};
    std::uniform_real_distribution<float> value{-1, 1};
    std::vector<float> values(count);
    for (float& element : values) element = value(generator);
    return values;
}

// rows and columns of the filter, rows and columns of the result
class Correlate : public testing::TestWithParam<
                      std::tuple<std::pair<std::size_t, std::size_t>, std::pair<std::size_t, std::size_t>>> {};

TEST_P(Correlate, agrees_with_the_definition_in_double_precision_and_touches_nothing_else) {
    const auto [filter_rows, filter_columns] = std::get<0>(GetParam());
    const auto [rows, columns] = std::get<1>(GetParam());
    const std::size_t pitch = columns + filter_columns + 5;
    const auto image = random_values((rows + filter_rows) * pitch, 1);
    const auto filter = random_values(filter_rows * filter_columns, 2);
    std::vector<float> result((rows + 1) * pitch, untouched);
    const view<const float, 2> window{image.data(), rows + filter_rows - 1, columns + filter_columns - 1,
                                      static_cast<std::ptrdiff_t>(pitch)};
    correlate(window, filter, view<float, 2>{result.data(), rows, columns, static_cast<std::ptrdiff_t>(pitch)});
    for (std::size_t i = 0; i < rows + 1; ++i) {
        for (std::size_t j = 0; j < pitch; ++j) {
            if (i >= rows || j >= columns) {
                ASSERT_EQ(result[i * pitch + j], untouched) << i << ' ' << j;
                continue;
            }
            double sum = 0;
            double magnitude = 0;
            for (std::size_t u = 0; u < filter_rows; ++u) {
                for (std::size_t v = 0; v < filter_columns; ++v) {
                    const double term = static_cast<double>(filter[u * filter_columns + v]) * window(i + u, j + v);
                    sum += term;
                    magnitude += std::abs(term);
                }
            }
            ASSERT_NEAR(result[i * pitch + j], sum, 1e-6 * magnitude) << i << ' ' << j;
        }
    }
}

using Shape = std::pair<std::size_t, std::size_t>;
INSTANTIATE_TEST_SUITE_P(shapes, Correlate,
                         testing::Combine(testing::Values(Shape{1, 1}, Shape{3, 3}, Shape{5, 5}, Shape{7, 7},
                                                          Shape{3, 5}, Shape{11, 1}, Shape{1, 11}),
                                          testing::Values(Shape{1, 1}, Shape{4, 31}, Shape{3, 32}, Shape{2, 33},
                                                          Shape{5, 64}, Shape{2, 95})));

TEST(Correlate, of_nothing_is_nothing) { correlate(view<const float, 2>{}, {}, view<float, 2>{}); }

TEST(Correlate, does_not_turn_the_filter_round) {
    const std::vector<float> image{0, 0, 0, 0, 1, 0, 0, 0, 0};
    const std::vector<float> filter{1, 2, 3};
    std::vector<float> row(1);
    correlate(view<const float, 2>{&image[2], 1, 3, 9}, filter, view<float, 2>{row.data(), 1, 1, 1});
    EXPECT_EQ(row[0], 3);  // the one stands at the end of the window, under the filter's last weight
}

TEST(Add, sums_tiles_of_different_pitch_exactly) {
    const auto a = random_values(5 * 10, 1);
    const auto b = random_values(5 * 12, 2);
    std::vector<float> sum(5 * 8, untouched);
    add(view<const float, 2>{a.data(), 5, 7, 10}, view<const float, 2>{b.data(), 5, 7, 12},
        view<float, 2>{sum.data(), 5, 7, 8});
    for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j < 7; ++j) EXPECT_EQ(sum[i * 8 + j], a[i * 10 + j] + b[i * 12 + j]);
        EXPECT_EQ(sum[i * 8 + 7], untouched);
    }
}

}  // namespace
