#include "apps/conv2d/conv2d.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "apps/random.hpp"
#include "penstock/machine.hpp"

namespace {

using penstock::Machine;
using penstock::view;
using penstock::apps::Random;
using penstock::apps::Team;
using penstock::apps::Tiling;
namespace conv2d = penstock::apps::conv2d;

conv2d::Filter random_filter(std::size_t rows, std::size_t columns) {
    Random random{7};
    conv2d::Filter filter{std::vector<float>(rows * columns), rows, columns};
    fill(filter.weights, nullptr, random, -1.0f, 1.0f);
    return filter;
}

TEST(Reflect, does_not_repeat_the_border_and_goes_on_for_ever) {
    const std::vector<std::size_t> expected{1, 2, 3, 2, 1, 0, 1,
                                            2, 3, 2, 1, 0, 1};  // of indices -5 to 7 in a line of 4
    for (std::ptrdiff_t i = -5; i <= 7; ++i)
        EXPECT_EQ(conv2d::reflect(i, 4), expected[static_cast<std::size_t>(i + 5)]) << i;
    EXPECT_EQ(conv2d::reflect(-3, 1), 0u);
    EXPECT_EQ(conv2d::reflect(3, 2), 1u);
}

// filter side; rows and columns of the image
using Shape = std::tuple<std::size_t, std::size_t, std::size_t>;
class ConvShapes : public testing::TestWithParam<Shape> {};

TEST_P(ConvShapes, every_way_gives_the_same_bits_close_to_float64) {
    const auto [side, rows, columns] = GetParam();
    const conv2d::Filter filter = random_filter(side, side);
    Random random{1};
    std::vector<float> image(rows * columns);
    fill(image, nullptr, random, -1.0f, 1.0f);
    const conv2d::PaddedPlane padded{image, rows, columns, filter};
    const auto plane = [&](std::vector<float>& values) { return view<float, 2>{values.data(), {rows, columns}}; };
    const Tiling tiling{rows, columns, 16, 48};

    std::vector<float> by_one(image.size());
    conv2d::serial(padded.window(), filter, plane(by_one), tiling);
    EXPECT_LE(conv2d::relative_error(image, rows, columns, filter, by_one, 1), 1e-6);
    for (const int threads : {1, 2, 3}) {
        Team team{threads};
        std::vector<float> by_hand(image.size());
        conv2d::hand(padded.window(), filter, plane(by_hand), tiling, team);
        EXPECT_EQ(by_hand, by_one) << threads << " threads";
    }
    Machine machine{{.targets = 1}};
    for (const Tiling tiles : {tiling, Tiling{rows, columns, 64, 64}, Tiling{rows, columns, 5, 7}}) {
        std::vector<float> by_tasks(image.size());
        conv2d::tagged(padded.window(), filter, plane(by_tasks), tiles, machine);
        machine.barrier();
        EXPECT_LE(conv2d::relative_error(image, rows, columns, filter, by_tasks, 1), 1e-6);
        EXPECT_EQ(by_tasks, by_one) << tiles.tile_rows << " x " << tiles.tile_columns;
    }
    std::vector<float> by_parts(image.size());
    conv2d::split(padded.window(), filter, plane(by_parts), machine);
    EXPECT_EQ(by_parts, by_one);
}

INSTANTIATE_TEST_SUITE_P(shapes, ConvShapes,
                         testing::Values(Shape{1, 1, 1}, Shape{5, 1, 1}, Shape{5, 1, 40}, Shape{5, 40, 1},
                                         Shape{3, 2, 2}, Shape{5, 16, 48}, Shape{5, 17, 49}, Shape{5, 100, 130},
                                         Shape{7, 33, 65}, Shape{9, 20, 30}, Shape{31, 10, 10}));

TEST(Conv2d, the_default_filter_keeps_a_constant_image_as_it_is) {
    const conv2d::Filter filter = conv2d::binomial();
    const std::vector<float> image(20 * 30, 0.25f);
    const conv2d::PaddedPlane padded{image, 20, 30, filter};
    std::vector<float> result(image.size());
    conv2d::serial(padded.window(), filter, view<float, 2>{result.data(), {20, 30}}, Tiling{20, 30, 8, 8});
    EXPECT_EQ(result, image);
}

TEST(Conv2d, the_check_notices_a_wrong_pixel) {
    const conv2d::Filter filter = conv2d::binomial();
    const std::vector<float> image(20 * 30, 0.25f);
    std::vector<float> result = image;
    result[100] += 1e-5f;
    EXPECT_GT(conv2d::relative_error(image, 20, 30, filter, result, 1), 1e-6);
}

}  // namespace
