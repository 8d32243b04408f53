#include "kernels/local_binary_pattern.hpp"

#include <bit>
#include <cmath>
#include <stdexcept>

#include "kernels/images.hpp"

namespace {

using images::Image;
using namespace penstock::kernels;

/// As scikit-image computes them (0.26): every neighbour is interpolated, also those that lie on a pixel.
template <class T>
unsigned code_at(const Image<T>& image, std::size_t row, std::size_t column, Border<T> border) {
    const auto pixel = [&](double r, double c) -> double {
        const auto i = inside(static_cast<std::ptrdiff_t>(r), image.rows(), border.rule);
        const auto j = inside(static_cast<std::ptrdiff_t>(c), image.columns(), border.rule);
        return i < 0 || j < 0 ? border.value : image(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    };
    constexpr double down[8] = {-0.0, -0.70711, -1, -0.70711, -0.0, 0.70711, 1, 0.70711};
    constexpr double right[8] = {1, 0.70711, 0, -0.70711, -1, -0.70711, -0.0, 0.70711};
    unsigned code = 0;
    for (unsigned k = 0; k < 8; ++k) {
        const double r = static_cast<double>(row) + down[k], c = static_cast<double>(column) + right[k];
        const double v = r - std::floor(r), u = c - std::floor(c);
        const double top = (1 - u) * pixel(std::floor(r), std::floor(c)) + u * pixel(std::floor(r), std::ceil(c));
        const double bottom = (1 - u) * pixel(std::ceil(r), std::floor(c)) + u * pixel(std::ceil(r), std::ceil(c));
        if ((1 - v) * top + v * bottom - image(row, column) >= 0) code |= 1u << k;
    }
    return code;
}

unsigned uniform(unsigned code) {
    int changes = 0;
    for (unsigned k = 0; k < 7; ++k) changes += (code >> k & 1) != (code >> (k + 1) & 1);
    return changes <= 2 ? static_cast<unsigned>(std::popcount(code)) : 9;
}

/// Random, with a part where all pixels are the same, so that codes depend on how products are rounded.
template <class T>
Image<T> half_flat(std::size_t rows, std::size_t columns) {
    auto image = images::random_image<T>(rows, columns, 1);
    for (std::size_t i = 0; i < rows / 2; ++i)
        for (std::size_t j = 0; j < columns; ++j) image.all()(i, j) = j < columns / 2 ? T(77) : T(0.3 * 200);
    return image;
}

template <class T>
class LocalBinaryPattern : public testing::Test {};
using Pixels = testing::Types<std::uint8_t, float>;
TYPED_TEST_SUITE(LocalBinaryPattern, Pixels);

TYPED_TEST(LocalBinaryPattern, has_the_bits_of_the_definition_in_double_precision_on_every_instruction_set) {
    using T = TypeParam;
    for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{1, 1}, {2, 3}, {40, 67}, {9, 130}}) {
        const auto image = half_flat<T>(rows, columns);
        for (const Border<T> border : {Border<T>{Outside::constant, T{}}, Border<T>{Outside::constant, T{5}},
                                       Border<T>{Outside::replicate, T{}}, Border<T>{Outside::reflect101, T{}}}) {
            images::with_each_instruction_set([&, rows = rows, columns = columns] {
                Image<std::uint8_t> codes{rows, columns}, few{rows, columns};
                local_binary_pattern<T>(image.all(), codes.all(), PatternCode::pattern, {}, border);
                local_binary_pattern<T>(image.all(), few.all(), PatternCode::uniform, {}, border);
                ASSERT_TRUE(codes.gaps_are_untouched());
                for (std::size_t i = 0; i < rows; ++i) {
                    for (std::size_t j = 0; j < columns; ++j) {
                        const unsigned wanted = code_at(image, i, j, border);
                        ASSERT_EQ(codes(i, j), wanted) << i << ' ' << j;
                        ASSERT_EQ(few(i, j), uniform(wanted)) << i << ' ' << j;
                    }
                }
            });
        }
    }
}

TYPED_TEST(LocalBinaryPattern, gives_the_same_bits_however_the_image_is_cut) {
    using T = TypeParam;
    const auto image = half_flat<T>(50, 90);
    Image<std::uint8_t> whole{50, 90}, tiled{50, 90};
    local_binary_pattern<T>(image.all(), whole.all());
    images::for_each_tile(50, 90, 13, 21, [&](Place at, std::array<std::size_t, 2> extents) {
        const auto [window, place] = images::window_of(image, at, extents, 1, 1);
        local_binary_pattern<T>(window, tiled.all().part({at.row, at.column}, extents), PatternCode::pattern, place,
                                {Outside::constant, T{}}, {at.row - place.row, at.column - place.column});
    });
    EXPECT_EQ(tiled, whole);
}

TEST(LocalBinaryPatterns, refuse_a_tile_beyond_the_window) {
    Image<std::uint8_t> image{4, 4}, codes{4, 4};
    EXPECT_THROW(local_binary_pattern<std::uint8_t>(image.all(), codes.all(), PatternCode::pattern, {1, 0}),
                 std::invalid_argument);
}

}  // namespace
