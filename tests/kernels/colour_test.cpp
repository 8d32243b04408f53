#include <cmath>
#include <stdexcept>

#include "kernels/images.hpp"
#include "kernels/lab.hpp"
#include "kernels/yuv.hpp"

namespace {

using images::Image;
using penstock::view;
using namespace penstock::kernels;

/// Red, green and blue as BT.601 defines them, not rounded.
std::array<double, 3> defined(double y, double u, double v, YuvRange range) {
    const double light = range == YuvRange::studio ? (y - 16) * 255 / 219 : y;
    const double scale = range == YuvRange::studio ? 255.0 / 224 : 1;
    const double red = light + 1.402 * (v - 128) * scale, blue = light + 1.772 * (u - 128) * scale;
    return {red, (light - 0.299 * red - 0.114 * blue) / 0.587, blue};
}

struct Chroma {
    std::size_t down, across;  // pixels that one value serves
};

class Yuv : public testing::TestWithParam<Chroma> {};

TEST_P(Yuv, is_less_than_half_a_step_and_three_hundredths_from_the_definition_on_every_instruction_set) {
    const auto [down, across] = GetParam();
    for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{1, 1}, {5, 71}, {64, 256}}) {
        const auto y = images::random_image<std::uint8_t>(rows, columns, 1);
        const auto u = images::random_image<std::uint8_t>((rows + down - 1) / down, (columns + across - 1) / across, 2);
        const auto v = images::random_image<std::uint8_t>(u.rows(), u.columns(), 3);
        for (const YuvRange range : {YuvRange::studio, YuvRange::full}) {
            Image<std::uint8_t> first{rows, 3 * columns};
            yuv_to_rgb(y.all(), u.all(), v.all(), first.all(), range);
            ASSERT_TRUE(first.gaps_are_untouched());
            for (std::size_t i = 0; i < rows; ++i) {
                for (std::size_t j = 0; j < columns; ++j) {
                    const auto wanted = defined(y(i, j), u(i / down, j / across), v(i / down, j / across), range);
                    for (std::size_t c = 0; c < 3; ++c)
                        ASSERT_NEAR(first(i, 3 * j + c), std::clamp(wanted[c], 0.0, 255.0), 0.53)
                            << i << ' ' << j << ' ' << c;
                }
            }
            images::with_each_instruction_set([&] {
                Image<std::uint8_t> again{rows, 3 * columns};
                yuv_to_rgb(y.all(), u.all(), v.all(), again.all(), range);
                EXPECT_EQ(again, first);
            });
        }
    }
}
INSTANTIATE_TEST_SUITE_P(chroma, Yuv, testing::Values(Chroma{1, 1}, Chroma{1, 2}, Chroma{2, 2}));

TEST(YuvToRgb, keeps_black_and_white_and_refuses_shapes_that_do_not_fit) {
    Image<std::uint8_t> y{2, 2}, grey{1, 1}, rgb{2, 6};
    grey.all()(0, 0) = 128;
    y.all()(0, 0) = 16, y.all()(0, 1) = 235, y.all()(1, 0) = 0, y.all()(1, 1) = 255;
    yuv_to_rgb(y.all(), grey.all(), grey.all(), rgb.all());
    for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(rgb(0, c), 0);
        EXPECT_EQ(rgb(0, 3 + c), 255);
        EXPECT_EQ(rgb(1, c), 0);
        EXPECT_EQ(rgb(1, 3 + c), 255);
    }
    Image<std::uint8_t> three{3, 3};
    EXPECT_THROW(yuv_to_rgb(y.all(), three.all(), three.all(), rgb.all()), std::invalid_argument);
    EXPECT_THROW(yuv_to_rgb(y.all(), grey.all(), grey.all(), three.all()), std::invalid_argument);
    EXPECT_THROW(yuv_to_rgb(y.all(), grey.all(), y.all(), rgb.all()), std::invalid_argument);
}

/// L*, a*, b* in double precision, from sRGB bytes.
std::array<double, 3> lab_of(const std::uint8_t* rgb) {
    double light[3], f[3];
    for (int c = 0; c < 3; ++c) {
        const double value = rgb[c] / 255.0;
        light[c] = value > 0.04045 ? std::pow((value + 0.055) / 1.055, 2.4) : value / 12.92;
    }
    constexpr double matrix[3][3] = {
        {0.412453, 0.357580, 0.180423}, {0.212671, 0.715160, 0.072169}, {0.019334, 0.119193, 0.950227}};
    constexpr double white[3] = {0.95047, 1, 1.08883};
    for (int c = 0; c < 3; ++c) {
        const double t = (matrix[c][0] * light[0] + matrix[c][1] * light[1] + matrix[c][2] * light[2]) / white[c];
        f[c] = t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116;
    }
    return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

TEST(RgbToLab, is_less_than_a_ten_thousandth_from_the_definition_on_every_instruction_set) {
    for (const std::size_t pixels : {1u, 15u, 16u, 211u}) {
        auto rgb = images::random_image<std::uint8_t>(40, 3 * pixels, 1);
        for (std::size_t j = 0; j < 3 * pixels; ++j) rgb.all()(0, j) = static_cast<std::uint8_t>(j / 3 % 7);  // dark
        for (std::size_t j = 0; j < 3 * pixels; ++j) rgb.all()(1, j) = 255;
        Image<float> first{40, 3 * pixels};
        rgb_to_lab(rgb.all(), first.all());
        ASSERT_TRUE(first.gaps_are_untouched());
        for (std::size_t i = 0; i < 40; ++i) {
            for (std::size_t j = 0; j < pixels; ++j) {
                const auto wanted = lab_of(&rgb.all()(i, 3 * j));
                for (std::size_t c = 0; c < 3; ++c)
                    ASSERT_NEAR(first(i, 3 * j + c), wanted[c], 1e-4) << i << ' ' << j << ' ' << c;
            }
        }
        images::with_each_instruction_set([&] {
            Image<float> again{40, 3 * pixels};
            rgb_to_lab(rgb.all(), again.all());
            EXPECT_EQ(again, first);
        });
    }
}

TEST(RgbToLab, with_statistics_gives_mean_and_variance_and_tiles_give_what_the_whole_gives) {
    const auto rgb = images::random_image<std::uint8_t>(50, 3 * 70, 2);
    Image<float> lab{50, 3 * 70}, tiled{50, 3 * 70};
    ChannelStatistics whole, merged;
    rgb_to_lab_with_statistics(rgb.all(), lab.all(), {&whole, 1});
    images::for_each_tile(50, 70, 17, 23, [&](Place at, std::array<std::size_t, 2> extents) {
        const std::array<std::size_t, 2> place{at.row, 3 * at.column}, numbers{extents[0], 3 * extents[1]};
        ChannelStatistics part;
        rgb_to_lab_with_statistics(rgb.all().part(place, numbers), tiled.all().part(place, numbers), {&part, 1});
        merged.merge(part);
    });
    EXPECT_EQ(tiled, lab);
    ASSERT_EQ(whole.pixels, 3500u);
    ASSERT_EQ(merged.pixels, 3500u);
    for (std::size_t c = 0; c < 3; ++c) {
        double mean = 0, squares = 0;
        for (std::size_t k = 0; k < 3500; ++k) mean += lab(k / 70, 3 * (k % 70) + c) / 3500.0;
        for (std::size_t k = 0; k < 3500; ++k) squares += std::pow(lab(k / 70, 3 * (k % 70) + c) - mean, 2);
        for (const ChannelStatistics& found : {whole, merged}) {
            EXPECT_NEAR(found.mean[c], mean, 1e-11);
            EXPECT_NEAR(found.variance(c), squares / 3500, 1e-9);
        }
    }
}

TEST(RgbToLab, has_no_variance_in_a_flat_image_far_from_zero) {
    Image<std::uint8_t> rgb{64, 3 * 64};  // all 77
    Image<float> lab{64, 3 * 64};
    ChannelStatistics flat;
    rgb_to_lab_with_statistics(rgb.all(), lab.all(), {&flat, 1});
    for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(flat.mean[c], static_cast<double>(lab(0, c)));
        EXPECT_EQ(flat.variance(c), 0);
    }
    flat.merge({});
    EXPECT_EQ(flat.pixels, 4096u);
    EXPECT_EQ(ChannelStatistics{}.variance(0), 0);
}

TEST(RgbToLab, refuses_rows_of_broken_pixels) {
    Image<std::uint8_t> rgb{2, 7};
    Image<float> lab{2, 7}, other{2, 6};
    EXPECT_THROW(rgb_to_lab(rgb.all(), lab.all()), std::invalid_argument);
    EXPECT_THROW(rgb_to_lab(rgb.all(), other.all()), std::invalid_argument);
    Image<std::uint8_t> good{2, 6};
    EXPECT_THROW(rgb_to_lab_with_statistics(good.all(), other.all(), {}), std::invalid_argument);
}

}  // namespace
