#include "apps/edge/edge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

#include "apps/edge/streams.hpp"
#include "apps/random.hpp"
#include "penstock/machine.hpp"
#include "tests/fetched_ahead.hpp"

namespace {

using penstock::Machine;
using penstock::view;
namespace edge = penstock::apps::edge;
using edge::Algorithm;
using Pixels = std::vector<float>;

struct Stack {
    Stack(std::size_t count, std::size_t rows, std::size_t columns)
        : extents{count, rows, columns}, pixels(count * rows * columns) {
        penstock::apps::Random random{3};
        penstock::apps::fill(pixels, nullptr, random, 0.0f, 1.0f);
    }
    view<const float, 3> pictures() const { return {pixels.data(), extents}; }
    view<float, 3> into(Pixels& result) const {
        result.assign(pixels.size(), -1.0f);
        return {result.data(), extents};
    }
    Pixels serially(Algorithm algorithm, std::size_t angles) const {
        Pixels result;
        edge::serial(algorithm, pictures(), into(result), angles);
        return result;
    }
    std::array<std::size_t, 3> extents;
    Pixels pixels;
};

// algorithm, targets, copies, placed
using Way = std::tuple<Algorithm, int, int, bool>;
class EdgeGraphs : public testing::TestWithParam<Way> {};

TEST_P(EdgeGraphs, give_the_bits_of_the_serial_program_for_every_number_of_copies_and_targets) {
    const auto [algorithm, targets, copies, placed] = GetParam();
    Machine machine{{.targets = targets}};
    edge::Placement placement{copies, {}};
    for (int t = 0; placed && t < targets; ++t) placement.targets.push_back(t);
    const Stack stack{3, 21, 34};
    constexpr std::size_t angles = 5;
    Pixels result;
    edge::streams(algorithm, stack.pictures(), stack.into(result), angles, machine, placement);
    EXPECT_EQ(result, stack.serially(algorithm, angles));
}

INSTANTIATE_TEST_SUITE_P(ways, EdgeGraphs,
                         testing::Values(Way{Algorithm::dense, 1, 1, false}, Way{Algorithm::dense, 2, 3, false},
                                         Way{Algorithm::dense, 3, 2, true}, Way{Algorithm::turned, 1, 1, false},
                                         Way{Algorithm::turned, 2, 4, false}, Way{Algorithm::turned, 3, 3, true}));

TEST(EdgeJobs, are_chains_whose_tiles_are_fetched_ahead) {
    Machine machine{{.targets = 1, .prefetch = penstock::Prefetch::always}};
    const Stack stack{1, 512, 256};
    Pixels result;
    for (const auto algorithm : {Algorithm::dense, Algorithm::turned}) {
        const auto work = [&] {  // often: small as it is, the thread that waits may run all of it
            for (int i = 0; i < 5; ++i) edge::streams(algorithm, stack.pictures(), stack.into(result), 2, machine, {});
        };
        EXPECT_GT(penstock::tests::fetched_ahead(machine, work), 0u) << static_cast<int>(algorithm);
        EXPECT_GT(penstock::tests::chains(machine, work), 0u) << static_cast<int>(algorithm);
    }
}

TEST(EdgeDense, is_within_the_tolerance_of_its_definition_in_float64) {
    const Stack stack{1, 13, 9};
    Pixels result = stack.serially(Algorithm::dense, 4);
    EXPECT_LE(edge::relative_error(stack.pictures(), view<float, 3>{result.data(), stack.extents}, 4, 1), 1e-5);
    result[60] += 1e-3f;
    EXPECT_GT(edge::relative_error(stack.pictures(), view<float, 3>{result.data(), stack.extents}, 4, 1), 1e-5);
}

TEST(Edges, of_a_step_are_as_strong_as_it_is_high_by_both_algorithms) {
    constexpr std::size_t side = 41, angles = 6;
    constexpr double middle = 20;
    for (std::size_t number = 0; number < angles; ++number) {
        const double angle = edge::Angle{number, angles}.radians();
        Stack stack{1, side, side};
        for (std::size_t i = 0; i < side; ++i) {
            for (std::size_t j = 0; j < side; ++j) {
                const double along = (static_cast<double>(j) - middle) * std::cos(angle) +
                                     (static_cast<double>(i) - middle) * std::sin(angle);
                stack.pixels[i * side + j] = 0.25f + 0.5f * static_cast<float>(std::clamp(along + 0.5, 0.0, 1.0));
            }
        }
        for (const auto algorithm : {Algorithm::dense, Algorithm::turned}) {
            const Pixels found = stack.serially(algorithm, angles);
            const auto away = [&](double distance) {
                const auto i = static_cast<std::size_t>(std::lround(middle + distance * std::sin(angle)));
                const auto j = static_cast<std::size_t>(std::lround(middle + distance * std::cos(angle)));
                return found[i * side + j];
            };
            EXPECT_NEAR(away(0), 0.5f, 0.05f) << "angle " << number;
            EXPECT_LT(away(12), 0.01f) << "angle " << number;
            EXPECT_LT(away(-12), 0.01f) << "angle " << number;
        }
    }
}

TEST(EdgeKernels, are_scaled_so_that_a_step_gives_its_own_height) {
    for (const double width : edge::widths) {
        const auto smooth = edge::smoothing(width), slope = edge::derivative(width);
        EXPECT_NEAR(std::accumulate(smooth.weights.begin(), smooth.weights.end(), 0.0), 1, 1e-6);
        EXPECT_NEAR(std::accumulate(slope.weights.begin(), slope.weights.end(), 0.0), 0, 1e-6);
        EXPECT_NEAR(std::accumulate(slope.weights.begin() + static_cast<std::ptrdiff_t>(slope.side / 2),
                                    slope.weights.end(), 0.0),
                    1, 1e-6);
    }
}

TEST(EdgeKernels, of_no_turn_are_the_products_of_both_lines) {
    const auto turned = edge::turned_kernel(1.0, 1.0, {0, 36});
    const auto along = edge::derivative(1.0), across = edge::smoothing(1.0);
    ASSERT_EQ(turned.side, along.side);
    for (std::size_t i = 0; i < turned.side; ++i)
        for (std::size_t j = 0; j < turned.side; ++j)
            EXPECT_NEAR(turned.weights[i * turned.side + j], across.weights[i] * along.weights[j], 1e-7);
}

TEST(Turn, there_and_back_is_where_one_was) {
    for (const std::size_t number : {0u, 5u, 18u, 31u}) {
        const edge::Turn turn{{number, 36}, 30, 50};
        const auto& a = turn.there.m;
        const auto& b = turn.back.m;
        const double row = b[0] * 7 + b[1] * 11 + b[2], column = b[3] * 7 + b[4] * 11 + b[5];
        EXPECT_NEAR(a[0] * row + a[1] * column + a[2], 7, 1e-9);
        EXPECT_NEAR(a[3] * row + a[4] * column + a[5], 11, 1e-9);
    }
}

}  // namespace
