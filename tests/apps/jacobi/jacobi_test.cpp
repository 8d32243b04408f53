#include "apps/jacobi/jacobi.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../ranks.hpp"
#include "penstock/error.hpp"

namespace {

using penstock::apps::jacobi::Problem;
using penstock::apps::jacobi::Variant;
namespace jacobi = penstock::apps::jacobi;

std::vector<float> by_one(const Problem& problem, std::size_t sweeps) {
    std::vector<float> result(problem.n + 2);
    jacobi::serial(problem.start.span(), problem.source.span(), result, sweeps);
    return result;
}

std::vector<float> by_ranks(Problem& problem, std::size_t sweeps, Variant variant,
                            const penstock::apps::RankOptions& options) {
    std::ranges::fill(problem.result.span(), 1e9f);
    EXPECT_GT(jacobi::parallel(problem, sweeps, variant, options), 0.0);
    return {problem.result.span().begin(), problem.result.span().end()};
}

TEST(Jacobi, one_sweep_has_the_values_that_were_computed_by_hand) {
    const std::vector<float> start{1, 2, 4, 8, 16};
    const std::vector<float> source{1, 0, -2};
    std::vector<float> result(5);
    jacobi::serial(start, source, result, 1);
    EXPECT_EQ(result, (std::vector<float>{1, 3, 5, 9, 16}));
    jacobi::serial(start, source, result, 2);
    EXPECT_EQ(result, (std::vector<float>{1, 3.5f, 6, 9.5f, 16}));
    jacobi::serial(start, source, result, 0);
    EXPECT_EQ(result, start);
}

TEST(Jacobi, many_sweeps_without_a_source_end_in_a_straight_line) {
    Problem problem{9};
    problem.start[10] = 10;
    const std::vector<float> result = by_one(problem, 2'000);
    for (std::size_t i = 0; i < result.size(); ++i) EXPECT_NEAR(result[i], static_cast<float>(i), 1e-4f) << i;
}

class JacobiRanks : public app_tests::RanksTest {};

TEST_P(JacobiRanks, have_the_bits_of_the_serial_sweeps) {
    for (const std::size_t n : {5u, 33u, 1'000u}) {
        Problem problem{n};
        jacobi::generate(problem, 3);
        for (const std::size_t sweeps : {0u, 1u, 2u, 25u}) {
            const auto expected = by_one(problem, sweeps);
            for (const int ranks : {1, 2, 4})
                for (const auto variant : jacobi::variants)
                    EXPECT_EQ(by_ranks(problem, sweeps, variant, on(ranks)), expected)
                        << n << " points, " << sweeps << " sweeps, " << ranks << " ranks, " << jacobi::name(variant);
        }
    }
}

TEST_P(JacobiRanks, have_them_for_the_line_of_57344_points_too) {
    Problem problem{57'344};
    jacobi::generate(problem, 1);
    const auto expected = by_one(problem, 51);
    for (const auto variant : jacobi::variants)
        EXPECT_EQ(by_ranks(problem, 51, variant, on(2)), expected) << jacobi::name(variant);
}

TEST_P(JacobiRanks, compute_the_same_in_every_pass) {
    Problem problem{100};
    jacobi::generate(problem, 5);
    const auto expected = by_one(problem, 7);
    for (const auto variant : jacobi::variants)
        for (const int passes : {1, 2, 5})
            EXPECT_EQ(by_ranks(problem, 7, variant, on(3, passes)), expected)
                << passes << " passes, " << jacobi::name(variant);
}

TEST_P(JacobiRanks, refuse_a_line_with_fewer_points_than_ranks) {
    Problem problem{2};
    EXPECT_THROW(jacobi::parallel(problem, 1, Variant::push, on(3)), penstock::UsageError);
    EXPECT_THROW(jacobi::parallel(problem, 1, Variant::shared, on(3)), penstock::UsageError);
}

TEST_P(JacobiRanks, refuse_to_push_more_sweeps_than_half_a_word_counts) {
    Problem problem{8};
    EXPECT_THROW(jacobi::parallel(problem, std::size_t{1} << 31, Variant::push_word, on(2, 2)), penstock::UsageError);
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(JacobiRanks);

void sweep_as_one_thread(penstock::Rank me) {
    constexpr std::size_t n = 1'001, sweeps = 60;
    Problem problem(n);
    jacobi::generate(problem, 5);
    const auto right = by_one(problem, sweeps);
    const auto mine = penstock::apps::share(me, n);
    for (const auto variant : {Variant::push_barrier, Variant::push, Variant::push_word}) {
        std::ranges::fill(problem.result.span(), 1e9f);
        jacobi::of_rank(me, problem, sweeps, variant);
        for (auto i = mine.begin + 1; i <= mine.end; ++i)
            app_tests::expect_in_rank(problem.result[i] == right[i], "point " + std::to_string(i));
    }
}

TEST_OVER_NODES(JacobiNodes, 4, &sweep_as_one_thread)

}  // namespace
