#include "apps/motion/motion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../ranks.hpp"
#include "penstock/error.hpp"
#include "tests/sanitizers.hpp"

namespace {

using penstock::apps::motion::Match;
using penstock::apps::motion::Pixel;
using penstock::apps::motion::Problem;
using penstock::apps::motion::Shape;
using penstock::apps::motion::Variant;
namespace motion = penstock::apps::motion;

std::vector<Match> by_one(const Problem& problem) {
    std::vector<Match> matches(problem.matches.size());
    motion::serial(problem, matches);
    return matches;
}

/// A surface on which no two places look alike.
Pixel surface(std::size_t y, std::size_t x) {
    const std::size_t mixed = (y * 7919 + x) * 2654435761u;
    return static_cast<Pixel>(mixed >> 13);
}

TEST(MotionKernels, the_sum_of_absolute_differences_is_the_one_computed_by_hand) {
    const std::vector<Pixel> a{0, 255, 10, 20}, b{255, 0, 13, 16};
    const penstock::view<const Pixel, 2> one{a.data(), {2, 2}}, other{b.data(), {2, 2}};
    EXPECT_EQ(penstock::kernels::motion::sad(one, other), 255u + 255u + 3u + 4u);
    const std::vector<Pixel> black(16 * 20), white(16 * 20, 255);
    const penstock::view<const Pixel, 2> dark{black.data(), 16, 16, 20}, bright{white.data(), 16, 16, 20};
    EXPECT_EQ(penstock::kernels::motion::sad(dark, bright), 255u * 256u);
}

TEST(Motion, finds_by_how_much_a_surface_moved) {
    Problem problem{Shape{.frames = 2, .rows = 48, .columns = 64}};
    for (std::size_t y = 0; y < 48; ++y)
        for (std::size_t x = 0; x < 64; ++x) {
            problem.frames[y * 64 + x] = surface(y + 20, x + 20);
            problem.frames[48 * 64 + y * 64 + x] =
                surface(y + 20 - 3, x + 20 + 5);  // what is seen came from 3 above, 5 to the right
        }
    const auto matches = by_one(problem);
    for (std::size_t row = 1; row < 3; ++row)
        for (std::size_t column = 0; column < 3; ++column)
            EXPECT_EQ(matches[row * 4 + column], (Match{0, -3, 5})) << row << ", " << column;
    EXPECT_NE(matches[0].sad, 0u) << "came from outside the frame";
}

TEST(Motion, refuses_shapes_without_whole_blocks_or_a_second_frame) {
    EXPECT_THROW(Problem(Shape{.rows = 17}), penstock::UsageError);
    EXPECT_THROW(Problem(Shape{.columns = 0}), penstock::UsageError);
    EXPECT_THROW(Problem(Shape{.block = 0}), penstock::UsageError);
    EXPECT_THROW(Problem(Shape{.frames = 1}), penstock::UsageError);
}

class MotionRanks : public app_tests::RanksTest {};

TEST_P(MotionRanks, find_the_same_matches_as_one_thread) {
    // Each frame costs a second under the thread sanitizer, where one count that ranks divide and one that they do not
    // must do.
    const auto frame_counts =
        penstock_tests::sanitized ? std::vector<std::size_t>{2, 4} : std::vector<std::size_t>{2, 3, 9};
    for (const auto frames : frame_counts)
        for (const std::size_t block : {8u, 16u}) {
            Problem problem{Shape{.frames = frames, .rows = 64, .columns = 96, .block = block}};
            motion::generate(problem, 2);
            const auto expected = by_one(problem);
            for (const auto variant : motion::variants)
                for (const int ranks : {1, 2, 3}) {
                    std::ranges::fill(problem.matches.span(), Match{});
                    EXPECT_GT(motion::parallel(problem, variant, on(ranks, 3)), 0.0);
                    EXPECT_TRUE(std::ranges::equal(problem.matches.span(), expected))
                        << frames << " frames, blocks of " << block << ", " << ranks << " ranks, "
                        << motion::name(variant);
                }
        }
}

TEST_P(MotionRanks, have_nothing_to_do_where_there_are_more_of_them_than_rows_of_blocks) {
    Problem problem{Shape{.frames = 3, .rows = 32, .columns = 32}};
    motion::generate(problem, 2);
    const auto expected = by_one(problem);
    for (const auto variant : motion::variants) {
        std::ranges::fill(problem.matches.span(), Match{});
        motion::parallel(problem, variant, on(4));
        EXPECT_TRUE(std::ranges::equal(problem.matches.span(), expected)) << motion::name(variant);
    }
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(MotionRanks);

}  // namespace
