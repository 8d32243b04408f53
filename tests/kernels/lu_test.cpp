#include "kernels/lu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <tuple>
#include <vector>

namespace {

constexpr auto bdiv = penstock::kernels::lu::bdiv<double>;
constexpr auto bmod = penstock::kernels::lu::bmod<double>;
constexpr auto bmodd = penstock::kernels::lu::bmodd<double>;
constexpr auto factor = penstock::kernels::lu::factor<double>;

// Column-major, with its own number of rows.
struct Block {
    Block(std::size_t r, std::size_t c) : rows{r}, columns{c}, values(r * c) {}
    double& operator()(std::size_t i, std::size_t j) { return values[j * rows + i]; }
    double operator()(std::size_t i, std::size_t j) const { return values[j * rows + i]; }
    std::size_t rows, columns;
    std::vector<double> values;
};

Block random_block(std::size_t rows, std::size_t columns, unsigned seed) {
    std::mt19937 generator{seed};
    std::uniform_real_distribution<double> value{-1, 1};
    Block block{rows, columns};
    for (double& element : block.values) element = value(generator);
    return block;
}

Block dominant_block(std::size_t order, unsigned seed) {
    Block block = random_block(order, order, seed);
    for (std::size_t i = 0; i < order; ++i) block(i, i) += static_cast<double>(order) + 1;
    return block;
}

Block lower(const Block& factors) {
    Block result{factors.rows, factors.rows};
    for (std::size_t j = 0; j < factors.rows; ++j) {
        for (std::size_t i = j; i < factors.rows; ++i) result(i, j) = factors(i, j);
    }
    return result;
}

Block unit_upper(const Block& factors) {
    Block result{factors.rows, factors.rows};
    for (std::size_t j = 0; j < factors.rows; ++j) {
        for (std::size_t i = 0; i < j; ++i) result(i, j) = factors(i, j);
        result(j, j) = 1;
    }
    return result;
}

Block product(const Block& a, const Block& b) {
    Block result{a.rows, b.columns};
    for (std::size_t i = 0; i < a.rows; ++i) {
        for (std::size_t j = 0; j < b.columns; ++j) {
            long double sum = 0;
            for (std::size_t k = 0; k < a.columns; ++k) sum += static_cast<long double>(a(i, k)) * b(k, j);
            result(i, j) = static_cast<double>(sum);
        }
    }
    return result;
}

void expect_near(const Block& actual, const Block& expected, double tolerance) {
    ASSERT_EQ(actual.values.size(), expected.values.size());
    for (std::size_t i = 0; i < actual.values.size(); ++i)
        ASSERT_NEAR(actual.values[i], expected.values[i], tolerance) << i;
}

// order of the diagonal block, the other side of the blocks beside it
class LuKernels : public testing::TestWithParam<std::tuple<int, int>> {
  protected:
    int order() const { return std::get<0>(GetParam()); }
    std::size_t n() const { return static_cast<std::size_t>(order()); }
    std::size_t side() const { return static_cast<std::size_t>(std::get<1>(GetParam())); }
};

TEST_P(LuKernels, the_factors_of_a_diagonal_block_multiply_to_the_block) {
    const Block original = dominant_block(n(), 1);
    Block factors = original;
    factor(factors.values, order());
    expect_near(product(lower(factors), unit_upper(factors)), original, 1e-12 * static_cast<double>(n()));
}

TEST_P(LuKernels, bdiv_times_the_upper_factor_gives_the_block_back) {
    Block diagonal = dominant_block(n(), 2);
    factor(diagonal.values, order());
    const Block original = random_block(side(), n(), 3);
    Block solved = original;
    bdiv(diagonal.values, solved.values, order());
    expect_near(product(solved, unit_upper(diagonal)), original, 1e-12);
}

TEST_P(LuKernels, the_lower_factor_times_bmodd_gives_the_block_back) {
    Block diagonal = dominant_block(n(), 4);
    factor(diagonal.values, order());
    const Block original = random_block(n(), side(), 5);
    Block solved = original;
    bmodd(diagonal.values, solved.values, order());
    expect_near(product(lower(diagonal), solved), original, 1e-12 * static_cast<double>(n()));
}

TEST_P(LuKernels, bmod_subtracts_the_product) {
    const Block left = random_block(side(), n(), 6);
    const Block above = random_block(n(), side() + 1, 7);
    const Block original = random_block(side(), side() + 1, 8);
    Block expected = product(left, above);
    for (std::size_t i = 0; i < expected.values.size(); ++i)
        expected.values[i] = original.values[i] - expected.values[i];
    Block block = original;
    bmod(left.values, above.values, block.values, order());
    expect_near(block, expected, 1e-13 * static_cast<double>(n() + 1));
}

TEST_P(LuKernels, each_element_is_computed_in_the_order_of_the_definition_whatever_the_shape) {
    const Block left = random_block(side(), n(), 9);
    const Block above = random_block(n(), side(), 10);
    Block block = random_block(side(), side(), 11);
    Block expected = block;
    for (std::size_t j = 0; j < side(); ++j) {
        for (std::size_t i = 0; i < side(); ++i) {
            for (std::size_t k = 0; k < n(); ++k) {
                const volatile double term = left(i, k) * above(k, j);  // rounded before it is subtracted
                expected(i, j) -= term;
            }
        }
    }
    bmod(left.values, above.values, block.values, order());
    EXPECT_EQ(block.values, expected.values);
}

TEST_P(LuKernels, in_float_each_element_is_computed_in_the_order_of_the_definition_too) {
    const auto floats = [](const Block& block) { return std::vector<float>(block.values.begin(), block.values.end()); };
    const auto left = floats(random_block(side(), n(), 9)), above = floats(random_block(n(), side(), 10));
    auto block = floats(random_block(side(), side(), 11));
    auto expected = block;
    for (std::size_t j = 0; j < side(); ++j) {
        for (std::size_t i = 0; i < side(); ++i) {
            for (std::size_t k = 0; k < n(); ++k) {
                // rounded before it is subtracted
                const volatile float term = left[k * side() + i] * above[j * n() + k];
                expected[j * side() + i] -= term;
            }
        }
    }
    penstock::kernels::lu::bmod<float>(left, above, block, order());
    EXPECT_EQ(block, expected);
}

// 16 is what SPLASH-2 uses, 64 is the last on the stack, 65 allocates.
INSTANTIATE_TEST_SUITE_P(shapes, LuKernels,
                         testing::Combine(testing::Values(1, 3, 15, 16, 17, 64, 65), testing::Values(1, 7, 16, 19)));

}  // namespace
