#include "kernels/blas.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

using penstock::kernels::saxpy;
using penstock::kernels::sgemv;

std::vector<float> random_values(std::size_t count, unsigned seed) {
    std::mt19937 generator{seed};
    std::uniform_real_distribution<float> value{-1, 1};
    std::vector<float> values(count);
    for (float& element : values) element = value(generator);
    return values;
}

class Sizes : public testing::TestWithParam<std::size_t> {};

TEST_P(Sizes, saxpy_rounds_product_and_sum_once_each) {
    const auto x = random_values(GetParam(), 1);
    const auto y = random_values(GetParam(), 2);
    const float a = 1.7f;
    auto result = y;
    saxpy(x, result, a);
    for (std::size_t i = 0; i < x.size(); ++i) {
        // Two doubles hold the exact product, so this is what two roundings in single precision give.
        const float product = static_cast<float>(static_cast<double>(a) * x[i]);
        EXPECT_EQ(result[i], static_cast<float>(static_cast<double>(product) + y[i])) << i;
    }
}

TEST_P(Sizes, sgemv_agrees_with_double_precision) {
    const std::size_t columns = GetParam();
    const std::size_t rows = 7;
    const auto a = random_values(rows * columns, 3);
    const auto x = random_values(columns, 4);
    const auto y = random_values(rows, 5);
    auto result = y;
    sgemv(a, x, result, 2.0f, 0.5f);
    for (std::size_t i = 0; i < rows; ++i) {
        double sum = 0;
        double magnitude = std::abs(0.5 * y[i]);
        for (std::size_t j = 0; j < columns; ++j) {
            sum += static_cast<double>(a[i * columns + j]) * x[j];
            magnitude += std::abs(2.0 * a[i * columns + j] * x[j]);
        }
        EXPECT_NEAR(result[i], 2.0 * sum + 0.5 * y[i], 1e-6 * magnitude + 1e-12) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(counts, Sizes, testing::Values(0, 1, 3, 15, 16, 17, 64, 100, 1000));

TEST(Sgemv, with_beta_zero_what_y_held_does_not_matter) {
    const std::vector<float> a{1, 2, 3, 4};
    const std::vector<float> x{1, 1};
    std::vector<float> y(2, std::numeric_limits<float>::quiet_NaN());
    sgemv(a, x, y, 1.0f, 0.0f);
    EXPECT_EQ(y, (std::vector<float>{3, 7}));
}

}  // namespace
