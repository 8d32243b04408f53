#include "apps/lu/lu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <variant>
#include <vector>

#include "penstock/dependences.hpp"
#include "penstock/error.hpp"
#include "penstock/machine.hpp"
#include "penstock/trace.hpp"

namespace {

using penstock::Distribution;
using penstock::Machine;
using penstock::apps::Team;
namespace lu = penstock::apps::lu;
namespace trace = penstock::trace;

bool same_bits(const lu::Matrix& a, const lu::Matrix& b) {
    return a.elements().size() == b.elements().size() &&
           std::memcmp(a.elements().data(), b.elements().data(), a.elements().size_bytes()) == 0;
}

// The definition, element by element on the whole matrix: U is unit-upper, the pivots are in L.
std::vector<std::vector<double>> factors_by_definition(const lu::Matrix& matrix) {
    const std::size_t n = matrix.order();
    std::vector<std::vector<double>> a(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) a[i][j] = matrix(i, j);
    }
    for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t j = k + 1; j < n; ++j) {
            a[k][j] /= a[k][k];
            for (std::size_t i = k + 1; i < n; ++i) a[i][j] -= a[i][k] * a[k][j];
        }
    }
    return a;
}

// order, block
class LuShapes : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
  protected:
    std::size_t order() const { return std::get<0>(GetParam()); }
    std::size_t block() const { return std::get<1>(GetParam()); }
    lu::Matrix input() const {
        lu::Matrix matrix{order(), block()};
        lu::generate(matrix, 1);
        return matrix;
    }
};

TEST_P(LuShapes, the_input_does_not_depend_on_the_block) {
    const lu::Matrix matrix = input();
    lu::Matrix whole{order(), order()};
    lu::generate(whole, 1);
    for (std::size_t i = 0; i < order(); ++i) {
        for (std::size_t j = 0; j < order(); ++j) ASSERT_EQ(matrix(i, j), whole(i, j)) << i << ' ' << j;
    }
}

TEST_P(LuShapes, the_serial_factors_are_those_of_the_definition) {
    lu::Matrix matrix = input();
    const auto expected = factors_by_definition(matrix);
    lu::serial(matrix);
    for (std::size_t i = 0; i < order(); ++i) {
        for (std::size_t j = 0; j < order(); ++j) {
            ASSERT_NEAR(matrix(i, j), expected[i][j], 1e-9 * (1 + std::abs(expected[i][j]))) << i << ' ' << j;
        }
    }
}

TEST_P(LuShapes, factors_reproduce_the_matrix_and_the_solution_of_ones) {
    const lu::Matrix original = input();
    lu::Matrix factors = input();
    lu::serial(factors);
    EXPECT_LE(lu::residual(original, factors), 1e-12);
    EXPECT_LE(lu::solution_error(original, factors), 1e-8);
}

TEST_P(LuShapes, by_hand_the_factors_have_the_same_bits) {
    lu::Matrix by_one = input();
    lu::serial(by_one);
    for (const int threads : {1, 2, 3}) {
        Team team{threads};
        lu::Matrix by_hand = input();
        lu::hand(by_hand, team);
        EXPECT_TRUE(same_bits(by_one, by_hand)) << threads << " threads";
    }
}

TEST_P(LuShapes, by_tagged_calls_the_factors_have_the_same_bits) {
    lu::Matrix by_one = input();
    lu::serial(by_one);
    for (const int targets : {0, 1, 2}) {
        Machine machine{{.targets = targets}};
        lu::Matrix by_tasks = input();
        lu::tagged(by_tasks, machine);
        EXPECT_TRUE(same_bits(by_one, by_tasks)) << targets << " targets";
    }
}

TEST_P(LuShapes, with_every_block_a_tagged_call_the_calls_are_counted_and_the_factors_have_the_same_bits) {
    lu::Matrix by_one = input();
    lu::serial(by_one);
    for (const auto distribution : {Distribution::balanced, Distribution::round_robin}) {
        for (const int targets : {0, 1, 2}) {
            Machine machine{{.targets = targets, .depth = 4, .distribution = distribution}};
            lu::Matrix by_calls = input();
            lu::called(by_calls, machine);
            EXPECT_TRUE(same_bits(by_one, by_calls)) << targets << " targets";
            std::uint64_t issued = 0, run = 0;
            const auto snapshot = machine.snapshot();
            for (const auto& [track, entry] : snapshot.tracks()) {
                if (const auto* initiator = std::get_if<trace::InitiatorTotals>(&entry.totals)) {
                    issued += initiator->calls;
                    run += initiator->helped + initiator->inlined;
                } else {
                    run += std::get<trace::TargetTotals>(entry.totals).tasks;
                }
            }
            EXPECT_EQ(issued, lu::calls(by_calls)) << targets << " targets";
            EXPECT_EQ(run, issued) << targets << " targets";
        }
    }
}

TEST_P(LuShapes, in_the_order_of_the_tags_the_factors_have_the_same_bits) {
    lu::Matrix by_one = input();
    lu::serial(by_one);
    for (const int targets : {0, 1, 2}) {
        Machine machine{{.targets = targets}};
        penstock::Dependences calls{machine};
        lu::Matrix by_order = input();
        lu::dependent(by_order, calls);
        EXPECT_TRUE(same_bits(by_one, by_order)) << targets << " targets";
        lu::Matrix by_runs = input();
        lu::dependent_runs(by_runs, calls);
        EXPECT_TRUE(same_bits(by_one, by_runs)) << targets << " targets, runs";
    }
}

INSTANTIATE_TEST_SUITE_P(shapes, LuShapes,
                         testing::Values(std::tuple{1u, 1u}, std::tuple{1u, 16u}, std::tuple{2u, 1u},
                                         std::tuple{16u, 16u}, std::tuple{17u, 16u}, std::tuple{15u, 16u},
                                         std::tuple{31u, 16u}, std::tuple{64u, 16u}, std::tuple{100u, 7u},
                                         std::tuple{65u, 64u}, std::tuple{130u, 65u}, std::tuple{100u, 1000u},
                                         std::tuple{33u, 1u}));

TEST(Lu, makes_the_matrix_and_the_factors_that_others_computed) {
    lu::Matrix matrix{512, 16};
    lu::generate(matrix, 1);
    EXPECT_EQ(matrix(0, 0), 27283.695181127354);
    EXPECT_EQ(matrix(1, 0), 29786.525864436782);
    long double sum = 0;
    for (const double element : matrix.elements()) sum += element;
    EXPECT_NEAR(static_cast<double>(sum), 8741629860.489, 1e-3);
    EXPECT_EQ(lu::procedures(matrix), 11'440u);
    EXPECT_EQ(lu::calls(matrix), 11'408u);  // 2 (31 + 30 + ...) + 31 31 + 30 30 + ...
    lu::serial(matrix);
    double smallest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < 512; ++i) smallest = std::min(smallest, std::abs(matrix(i, i)));
    EXPECT_NEAR(matrix(511, 511), 676541.5421, 1e-4);
    EXPECT_NEAR(smallest, 813.1313, 1e-4);
}

TEST(Lu, in_float_all_ways_have_the_bits_of_the_serial_one_and_reproduce_the_matrix) {
    using Floats = lu::MatrixOf<float>;
    const auto same = [](const Floats& a, const Floats& b) {
        return std::memcmp(a.elements().data(), b.elements().data(), a.elements().size_bytes()) == 0;
    };
    for (const std::size_t block : {16u, 24u, 100u}) {
        Floats original{100, block}, by_one{100, block}, other{100, block};
        lu::generate(original, 1);
        lu::Matrix in_double{100, block};
        lu::generate(in_double, 1);
        EXPECT_EQ(original(70, 3), static_cast<float>(in_double(70, 3)));
        by_one.copy_from(original);
        lu::serial(by_one);
        EXPECT_LE(lu::backward_error(original, by_one), 100 * 0x1p-24) << block;
        EXPECT_GT(lu::backward_error(original, by_one), 0x1p-30) << "computed in double";
        Team team{2};
        other.copy_from(original);
        lu::hand(other, team);
        EXPECT_TRUE(same(by_one, other)) << block;
        Machine machine{{.targets = 1}};
        other.copy_from(original);
        lu::tagged(other, machine);
        EXPECT_TRUE(same(by_one, other)) << block;
        penstock::Dependences calls{machine};
        other.copy_from(original);
        lu::dependent(other, calls);
        EXPECT_TRUE(same(by_one, other)) << block;
        other.copy_from(original);
        lu::dependent_runs(other, calls);
        EXPECT_TRUE(same(by_one, other)) << block;
    }
}

TEST(Lu, the_sum_for_order_64_is_the_published_one) {
    lu::Matrix matrix{64, 16};
    lu::generate(matrix, 1);
    long double sum = 0;
    for (const double element : matrix.elements()) sum += element;
    EXPECT_NEAR(static_cast<double>(sum), 153204427.6487, 1e-4);
}

TEST(Lu, the_checks_notice_one_wrong_element) {
    lu::Matrix original{64, 16};
    lu::generate(original, 1);
    lu::Matrix factors{64, 16};
    factors.copy_from(original);
    lu::serial(factors);
    factors(40, 20) += 1e-3 * std::abs(factors(40, 20)) + 1;
    EXPECT_GT(lu::residual(original, factors), 1e-12);
    EXPECT_GT(lu::solution_error(original, factors), 1e-8);
    EXPECT_GT(lu::backward_error(original, factors), 64 * 0x1p-53);
}

TEST(Lu, the_checks_notice_what_is_not_a_number) {
    lu::Matrix original{20, 16};
    lu::generate(original, 1);
    lu::Matrix factors{20, 16};
    factors.copy_from(original);
    lu::serial(factors);
    factors(3, 3) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(lu::residual(original, factors) <= 1e-12);
    EXPECT_FALSE(lu::solution_error(original, factors) <= 1e-8);
    EXPECT_FALSE(lu::backward_error(original, factors) <= 1);
}

TEST(Lu, above_the_order_where_the_product_is_formed_the_residual_still_notices) {
    lu::Matrix original{1100, 100};
    lu::generate(original, 1);
    lu::Matrix factors{1100, 100};
    factors.copy_from(original);
    lu::serial(factors);
    EXPECT_LE(lu::residual(original, factors), 1e-12);
    factors(1000, 1000) *= 1.5;
    EXPECT_GT(lu::residual(original, factors), 1e-9);
}

TEST(Lu, refuses_an_empty_matrix_and_a_block_of_nothing) {
    EXPECT_THROW(lu::Matrix(0, 16), penstock::UsageError);
    EXPECT_THROW(lu::Matrix(16, 0), penstock::UsageError);
    EXPECT_THROW(lu::Matrix(16, 32'769), penstock::UsageError);
    EXPECT_THROW(lu::Matrix(std::size_t{1} << 40, 16), penstock::UsageError);
}

}  // namespace
