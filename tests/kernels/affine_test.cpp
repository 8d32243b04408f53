#include "kernels/affine.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "kernels/images.hpp"

namespace {

using images::Image;
using penstock::view;
using namespace penstock::kernels;

constexpr Outside rules[] = {Outside::reflect101, Outside::replicate, Outside::constant};
constexpr Interpolation interpolations[] = {Interpolation::nearest, Interpolation::bilinear};

/// Turned by `degrees`, scaled and sheared, about the middle of an image of rows x columns.
Affine about_the_middle(double degrees, double scale, double shear, double rows, double columns) {
    const double c = scale * std::cos(degrees * 0.017453292519943295),
                 s = scale * std::sin(degrees * 0.017453292519943295);
    const std::array<double, 4> m{c, s + shear, -s, c};
    return {{m[0], m[1], rows / 2 - m[0] * rows / 2 - m[1] * columns / 2, m[2], m[3],
             columns / 2 - m[2] * rows / 2 - m[3] * columns / 2}};
}

std::vector<Affine> maps(double rows, double columns) {
    return {about_the_middle(0, 1, 0, rows, columns),
            about_the_middle(17, 1, 0, rows, columns),
            about_the_middle(-80, 0.6, 0.2, rows, columns),
            about_the_middle(33, 2.7, 0, rows, columns),
            about_the_middle(180, 1, 0, rows, columns),
            {{1, 0, 3.25, 0, 1, -2.5}},
            {{0, 0, 1.5, 0, 0, 2.5}},
            {{1, 0, -500, 0, 1, 40}},
            {{-40, 3, 0, 17, 900, 12}}};
}

template <class T>
double pixel(const Image<T>& image, double row, double column, Border<T> border) {
    const auto r = inside(static_cast<std::ptrdiff_t>(row), image.rows(), border.rule);
    const auto c = inside(static_cast<std::ptrdiff_t>(column), image.columns(), border.rule);
    return r < 0 || c < 0 ? border.value : image(static_cast<std::size_t>(r), static_cast<std::size_t>(c));
}

/// The definition in double precision.
template <class T>
double wanted(const Image<T>& image, double y, double x, Interpolation interpolation, Border<T> border) {
    if (interpolation == Interpolation::nearest) return pixel(image, std::floor(y + 0.5), std::floor(x + 0.5), border);
    const double i = std::floor(y), j = std::floor(x), v = y - i, u = x - j;
    return (1 - v) * ((1 - u) * pixel(image, i, j, border) + u * pixel(image, i, j + 1, border)) +
           v * ((1 - u) * pixel(image, i + 1, j, border) + u * pixel(image, i + 1, j + 1, border));
}

template <class T>
class AffineOf : public testing::Test {};
using Pixels = testing::Types<std::uint8_t, float>;
TYPED_TEST_SUITE(AffineOf, Pixels);

TYPED_TEST(AffineOf, agrees_with_the_definition_in_double_precision_on_every_instruction_set) {
    using T = TypeParam;
    for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{33, 170}, {1, 1}, {3, 41}, {50, 2}}) {
        const auto image = images::random_image<T>(rows, columns, 7);
        for (const Affine& map : maps(static_cast<double>(rows), static_cast<double>(columns))) {
            const double error = 1e-6 * (std::abs(map.m[1]) + std::abs(map.m[4]) + 1);  // of a place, in pixels
            for (const Outside rule : rules) {
                for (const Interpolation interpolation : interpolations) {
                    const Border<T> border{rule, T{9}};
                    Image<T> first{19, 143};
                    affine<T>(image.all(), first.all(), map, interpolation, border);
                    ASSERT_TRUE(first.gaps_are_untouched());
                    for (std::size_t i = 0; i < first.rows(); ++i) {
                        for (std::size_t j = 0; j < first.columns(); ++j) {
                            const double r = static_cast<double>(i), c = static_cast<double>(j);
                            const double y = map.m[0] * r + map.m[1] * c + map.m[2],
                                         x = map.m[3] * r + map.m[4] * c + map.m[5];
                            const double value = wanted(image, y, x, interpolation, border);
                            if (interpolation == Interpolation::bilinear) {
                                const double tolerance =
                                    4 * error * (sizeof(T) == 1 ? 255 : 9) + (sizeof(T) == 1 ? 0.5 : 0);
                                ASSERT_NEAR(first(i, j), value, tolerance) << i << ' ' << j;
                            } else {
                                // A place on the border between two pixels may go either way.
                                const bool near = std::abs(y - std::floor(y) - 0.5) < error ||
                                                  std::abs(x - std::floor(x) - 0.5) < error;
                                if (near) continue;
                                ASSERT_EQ(first(i, j), value) << i << ' ' << j;
                            }
                        }
                    }
                    images::with_each_instruction_set([&] {
                        Image<T> again{19, 143};
                        affine<T>(image.all(), again.all(), map, interpolation, border);
                        EXPECT_EQ(again, first);
                    });
                }
            }
        }
    }
}

TYPED_TEST(AffineOf, gives_the_same_bits_however_the_result_is_cut_and_from_a_window_of_what_it_needs) {
    using T = TypeParam;
    const auto image = images::random_image<T>(61, 83, 8);
    for (const Affine& map : maps(61, 83)) {
        for (const Outside rule : rules) {
            for (const Interpolation interpolation : interpolations) {
                const Border<T> border{rule, T{9}};
                Image<T> whole{57, 75}, tiled{57, 75};
                affine<T>(image.all(), whole.all(), map, interpolation, border);
                images::for_each_tile(57, 75, 14, 27, [&](Place at, std::array<std::size_t, 2> extents) {
                    const Part part = affine_part(map, {at, extents[0], extents[1]}, 61, 83, rule);
                    // nothing but the part, so that a sanitizer sees what lies outside
                    Image<T> window{part.rows, part.columns};
                    for (std::size_t i = 0; i < part.rows; ++i)
                        for (std::size_t j = 0; j < part.columns; ++j)
                            window.all()(i, j) = image(part.at.row + i, part.at.column + j);
                    affine<T>(window.all(), tiled.all().part({at.row, at.column}, extents), map, interpolation, border,
                              at, {part.at, 61, 83});
                });
                ASSERT_EQ(tiled, whole);
            }
        }
    }
}

TEST(Affine, that_moves_by_whole_pixels_copies_them) {
    const auto image = images::random_image<std::uint8_t>(40, 90, 9);
    for (const Interpolation interpolation : interpolations) {
        Image<std::uint8_t> out{20, 64};
        affine<std::uint8_t>(image.all(), out.all(), {{1, 0, 7, 0, 1, 11}}, interpolation);
        for (std::size_t i = 0; i < 20; ++i)
            for (std::size_t j = 0; j < 64; ++j) ASSERT_EQ(out(i, j), image(i + 7, j + 11));
    }
}

TEST(Affine, takes_pixels_that_lie_millions_apart_from_where_they_are) {
    constexpr std::size_t step = 600'000, rows = 6, columns = 8 * step + 10, row = 2, first = 3, count = 20;
    std::vector<std::uint8_t> wide(rows * columns);
    for (std::size_t j = 0; j < columns; ++j) wide[row * columns + j] = static_cast<std::uint8_t>(j % 251 + 1);
    std::vector<std::uint8_t> few(count, 0xFF);
    for (const auto rule : {Outside::constant, Outside::replicate})
        for (const auto interpolation : {Interpolation::nearest, Interpolation::bilinear}) {
            affine<std::uint8_t>({wide.data(), {rows, columns}}, {few.data(), {1, count}},
                                 {{1, 0, row, 0, step, first}}, interpolation, {rule, 0});
            for (std::size_t j = 0; j < count; ++j) {
                const std::size_t at = j * step + first;
                const std::uint8_t outside = rule == Outside::constant ? 0 : wide[(row + 1) * columns - 1];
                EXPECT_EQ(few[j], at < columns ? wide[row * columns + at] : outside) << j;
            }
        }
}

TEST(Affine, reads_nothing_for_a_tile_beside_a_huge_image_whatever_the_window) {
    constexpr Whole whole{{0, 0}, 60'000, 40'000};
    const std::vector<std::uint8_t> window(8 * whole.columns, 7);  // its first rows
    std::vector<std::uint8_t> tile(4 * 64);
    for (const std::size_t row : {std::size_t{0}, std::size_t{26'900}, std::size_t{40'000}, std::size_t{52'000}}) {
        std::ranges::fill(tile, std::uint8_t{0xFF});
        affine<std::uint8_t>({window.data(), {8, whole.columns}}, {tile.data(), {4, 64}},
                             {{1, 0, 0, 0, 1, static_cast<double>(whole.columns) + 100}}, Interpolation::nearest,
                             {Outside::constant, 9}, {row, 0}, whole);
        EXPECT_EQ(std::ranges::count(tile, 9), 4 * 64) << row;
    }
}

TEST(Affine, says_which_part_of_the_image_a_tile_needs) {
    const Affine moved{{1, 0, 10, 0, 1, 20}};
    const Part part = affine_part(moved, {{0, 0}, 8, 8}, 100, 100, Outside::replicate);
    EXPECT_LE(part.at.row, 10u);
    EXPECT_LE(part.at.column, 20u);
    EXPECT_GE(part.at.row + part.rows, 19u);
    EXPECT_LT(part.rows, 14u);
    EXPECT_EQ(affine_part(moved, {{200, 0}, 8, 8}, 100, 100, Outside::constant).rows, 0u);
    EXPECT_EQ(affine_part(moved, {}, 100, 100, Outside::constant), Part{});
}

TEST(Affine, refuses_a_window_that_is_too_small_and_a_matrix_of_no_numbers) {
    Image<float> image{8, 8}, out{8, 8};
    EXPECT_THROW(
        affine<float>(image.all(), out.all(), {{1, 0, 0, 0, 1, 0}}, Interpolation::bilinear, {}, {}, {{}, 100, 100}),
        std::invalid_argument);
    EXPECT_THROW(affine<float>(image.all(), out.all(), {{std::numeric_limits<double>::quiet_NaN(), 0, 0, 0, 1, 0}}),
                 std::invalid_argument);
    EXPECT_THROW(affine<float>(view<const float, 2>{}, out.all(), {}), std::invalid_argument);
}

}  // namespace
