#include "apps/colour/colour.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "penstock/machine.hpp"

namespace {

using penstock::Machine;
using penstock::view;
using penstock::apps::mirrored;
using penstock::apps::Picture;
using penstock::apps::spots;
using penstock::apps::Tiling;
namespace colour = penstock::apps::colour;

struct Result {
    std::vector<float> lab;
    colour::Work work;
    Result(const Picture& picture, Tiling tiling)
        : lab(picture.rgb.size()), work{picture, tiling, {lab.data(), {picture.rows, 3 * picture.columns}}} {}
};

}  // namespace

// targets, copies
class ColourOn : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(ColourOn, every_number_of_copies_and_targets_gives_the_bits_of_one_thread) {
    const auto [targets, copies] = GetParam();
    Machine machine{{.targets = targets}};
    const Picture picture = spots(150, 130, 3);
    const Tiling tiling{150, 130, 32, 40};
    Result one{picture, tiling}, without_copies{picture, tiling}, streams{picture, tiling};
    const auto wanted = colour::serial(one.work);
    const auto found = colour::streamed(streams.work, machine, copies, 2);
    EXPECT_EQ(streams.lab, one.lab);
    EXPECT_EQ(found.pixels, wanted.pixels);
    EXPECT_EQ(found.mean, wanted.mean);
    EXPECT_EQ(found.squares, wanted.squares);
    EXPECT_EQ(colour::direct(without_copies.work).squares, wanted.squares);
    EXPECT_EQ(without_copies.lab, one.lab);
}

INSTANTIATE_TEST_SUITE_P(machines, ColourOn, testing::Combine(testing::Values(1, 2), testing::Values(1, 2, 5)));

TEST(Colour, white_black_and_a_primary_are_where_the_definition_says) {
    const std::uint8_t pixels[] = {255, 255, 255, 0, 0, 0, 255, 0, 0};
    // red: CIE L*a*b* of sRGB in any table
    const double wanted[3][3] = {{100, 0, 0}, {0, 0, 0}, {53.2408, 80.0925, 67.2032}};
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t c = 0; c < 3; ++c)
            EXPECT_NEAR(colour::defined(pixels + 3 * i)[c], wanted[i][c], 0.02) << i << ' ' << c;
}

TEST(Pictures, a_small_picture_goes_on_as_between_mirrors) {
    const std::vector<std::uint8_t> line{1, 1, 1, 2, 2, 2, 3, 3, 3};
    const Picture wide = mirrored({line.data(), {1, 9}}, 2, 7);
    const int wanted[] = {1, 2, 3, 2, 1, 2, 3};
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 7; ++j) EXPECT_EQ(wide.all()(i, 3 * j + 1), wanted[j]);
    EXPECT_EQ(mirrored({line.data(), {1, 9}}, 1, 2).rgb.size(), 6u);
}
