#include "apps/fft2d/fft2d.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "../ranks.hpp"
#include "apps/fft2d/layout.hpp"
#include "penstock/error.hpp"

namespace {

using penstock::apps::fft2d::Complex;
using penstock::apps::fft2d::Problem;
using penstock::apps::fft2d::Transform;
using penstock::apps::fft2d::Variant;
namespace fft2d = penstock::apps::fft2d;

std::vector<Complex> by_one(const Problem& problem) {
    std::vector<Complex> result(problem.result.size());
    fft2d::serial(problem, result);
    return result;
}

TEST(Fft2d, a_wave_has_one_coefficient_at_its_frequencies) {
    Problem problem{24};
    for (std::size_t row = 0; row < 24; ++row)
        for (std::size_t column = 0; column < 24; ++column) {
            const double phase =
                2 * std::numbers::pi * (3.0 * static_cast<double>(row) + 5.0 * static_cast<double>(column)) / 24;
            problem.image[row * problem.pitch + column] = std::polar(1.0f, static_cast<float>(phase));
        }
    const auto result = by_one(problem);
    for (std::size_t column = 0; column < 24; ++column)
        for (std::size_t row = 0; row < 24; ++row)
            EXPECT_NEAR(std::abs(result[column * problem.pitch + row]), row == 3 && column == 5 ? 576 : 0, 1e-3)
                << row << ", " << column;
}

TEST(Fft2d, single_coefficients_agree_with_their_sum_in_double_precision) {
    for (const std::size_t n : {1u, 7u, 8u, 60u, 256u}) {
        Problem problem{n};
        fft2d::generate(problem, 3);
        const auto result = by_one(problem);
        EXPECT_LE(fft2d::relative_error(problem, result, 16), 1e-6) << n;
    }
}

TEST(Fft2d, the_check_notices_rows_and_columns_that_were_mixed_up_and_what_is_not_a_number) {
    Problem problem{16};
    fft2d::generate(problem, 3);
    auto result = by_one(problem);
    auto mixed_up = result;
    fft2d::transpose(result.data(), problem.pitch, mixed_up.data(), problem.pitch, 16, 16);
    EXPECT_GT(fft2d::relative_error(problem, mixed_up, 16), 0.01);
    std::ranges::fill(result, Complex{std::numeric_limits<float>::quiet_NaN()});
    EXPECT_FALSE(fft2d::relative_error(problem, result, 16) <= 1e-6);
}

TEST(Fft2d, by_halves_too_they_agree_with_their_sum_in_double_precision) {
    for (const std::size_t n : {2u, 8u, 60u, 256u}) {
        Problem problem{n, Transform::halves};
        fft2d::generate(problem, 3);
        EXPECT_EQ(problem.plan.rows(), Transform::halves);
        EXPECT_LE(fft2d::relative_error(problem, by_one(problem), 16), 1e-6) << n;
    }
}

TEST(Fft2d, refuses_an_image_without_pixels_and_halves_of_an_odd_number) {
    EXPECT_THROW(fft2d::Plan{0}, penstock::UsageError);
    EXPECT_THROW((fft2d::Plan{7, Transform::halves}), penstock::UsageError);
}

class Fft2dRanks : public app_tests::RanksTest {
  protected:
    static void compare(const Problem& problem, Variant variant, int ranks) {
        std::ranges::fill(problem.result.span(), Complex{});
        EXPECT_GT(fft2d::parallel(problem, variant, on(ranks)), 0.0);
        const std::vector<Complex> result(problem.result.span().begin(), problem.result.span().end());
        EXPECT_EQ(result, by_one(problem))
            << problem.n << " x " << problem.n << ", " << ranks << " ranks, " << fft2d::name(variant);
    }
};

TEST_P(Fft2dRanks, have_the_bits_of_one_thread_in_every_variant) {
    for (const std::size_t n : {1u, 8u, 20u, 64u}) {
        Problem problem{n};
        fft2d::generate(problem, 5);
        for (const auto variant : fft2d::variants)
            for (const int ranks : {1, 2, 3}) compare(problem, variant, ranks);
    }
}

TEST_P(Fft2dRanks, have_them_for_256_x_256_too) {
    Problem problem{256};
    fft2d::generate(problem, 1);
    for (const auto variant : fft2d::variants) compare(problem, variant, 2);
}

TEST_P(Fft2dRanks, have_them_when_numbers_leave_as_they_are_computed) {
    for (const std::size_t n : {2u, 20u, 64u}) {
        Problem problem{n, Transform::halves};
        fft2d::generate(problem, 7);
        for (const auto variant : fft2d::variants) compare(problem, variant, 2);
    }
}

TEST_P(Fft2dRanks, choose_push_or_pull_once_and_for_all) {
    Problem problem{32};
    fft2d::generate(problem, 1);
    const auto first = fft2d::chosen(problem, on(2));
    EXPECT_TRUE(first == Variant::push || first == Variant::pull);
    for (int again = 0; again < 3; ++again) EXPECT_EQ(fft2d::chosen(problem, on(2)), first);
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(Fft2dRanks);

void transform_as_one_thread(penstock::Rank me) {
    Problem problem(96, Transform::whole, fft2d::Planning::estimated);
    fft2d::generate(problem, 5);
    const auto right = by_one(problem);
    const auto mine =
        fft2d::Layout{problem.n, static_cast<std::size_t>(me.size())}.of(static_cast<std::size_t>(me.index()));
    for (const auto variant :
         {Variant::bulk, Variant::pencils, Variant::dma_bulk, Variant::dma_pencils, Variant::elements, Variant::push}) {
        std::ranges::fill(problem.result.span(), Complex{});
        fft2d::of_rank(me, problem, variant);
        for (auto row = mine.begin; row < mine.end; ++row)
            for (std::size_t column = 0; column < problem.n; ++column)
                app_tests::expect_in_rank(
                    problem.result[row * problem.pitch + column] == right[row * problem.pitch + column],
                    "coefficient " + std::to_string(row) + ", " + std::to_string(column));
    }
}

TEST_OVER_NODES(Fft2dNodes, 4, &transform_as_one_thread)

}  // namespace
