#include "kernels/convolution.hpp"

#include <cmath>
#include <stdexcept>

#include "kernels/images.hpp"

namespace {

using images::Image;
using penstock::view;
using namespace penstock::kernels;

constexpr Outside rules[] = {Outside::reflect101, Outside::replicate, Outside::constant};

/// The definition in double precision: the sum, and the sum of absolute values.
template <class T, class W>
std::pair<double, double> sum_at(const Image<T>& image, std::size_t row, std::size_t column, std::span<const W> weights,
                                 Shape shape, Border<T> border) {
    double sum = 0, magnitude = 0;
    for (std::size_t u = 0; u < shape.rows; ++u) {
        for (std::size_t v = 0; v < shape.columns; ++v) {
            const auto r = inside(static_cast<std::ptrdiff_t>(row + u) - static_cast<std::ptrdiff_t>(shape.rows / 2),
                                  image.rows(), border.rule);
            const auto c =
                inside(static_cast<std::ptrdiff_t>(column + v) - static_cast<std::ptrdiff_t>(shape.columns / 2),
                       image.columns(), border.rule);
            const double pixel =
                r < 0 || c < 0 ? border.value : image(static_cast<std::size_t>(r), static_cast<std::size_t>(c));
            const double term = static_cast<double>(weights[u * shape.columns + v]) * pixel;
            sum += term;
            magnitude += std::abs(term);
        }
    }
    return {sum, magnitude};
}

template <class W>
std::vector<W> random_weights(std::size_t count, int most) {
    std::mt19937 generator{static_cast<unsigned>(count)};
    std::vector<W> weights(count);
    for (W& weight : weights) {
        if constexpr (std::is_floating_point_v<W>) weight = std::uniform_real_distribution<W>{-1, 1}(generator);
        else weight = static_cast<W>(std::uniform_int_distribution<int>{-most, most}(generator));
    }
    return weights;
}

template <class T, std::size_t taps>
Filter<T, taps> small(const std::vector<Weight<T>>& weights, [[maybe_unused]] int shift) {
    Filter<T, taps> filter;
    std::copy_n(weights.begin(), taps, filter.weights.begin());
    if constexpr (!std::is_floating_point_v<T>) filter.shift = shift;
    return filter;
}

/// By the function that is named for the shape where there is one.
template <class T>
void convolve(view<const T, 2> window, const std::vector<Weight<T>>& weights, view<T, 2> out, Shape shape, Place at,
              Border<T> border) {
    if (shape.rows == 3 && shape.columns == 3)
        convolve_3x3<T>(window, out, small<T, 9>(weights, shape.shift), at, border);
    else if (shape.rows == 5 && shape.columns == 1)
        convolve_5x1<T>(window, out, small<T, 5>(weights, shape.shift), at, border);
    else if (shape.rows == 1 && shape.columns == 5)
        convolve_1x5<T>(window, out, small<T, 5>(weights, shape.shift), at, border);
    else convolve_dense<T>(window, weights, out, shape, at, border);
}

constexpr std::pair<std::size_t, std::size_t> filters[] = {{3, 3}, {5, 1}, {1, 5}, {5, 5},
                                                           {1, 1}, {7, 7}, {2, 4}, {1, 13}};
constexpr std::pair<std::size_t, std::size_t> sizes[] = {{1, 1}, {4, 9}, {6, 33}, {9, 70}};
constexpr std::pair<std::size_t, std::size_t> sizes_of_halves[] = {
    {1, 1}, {4, 9}, {6, 33}, {9, 70}, {3, 4500}};  // and of several strips

TEST(Convolution, of_floats_agrees_with_the_definition_in_double_precision_on_every_instruction_set) {
    for (const auto& [filter_rows, filter_columns] : filters) {
        const auto weights = random_weights<float>(filter_rows * filter_columns, 1);
        for (const auto& [rows, columns] : sizes) {
            const auto image = images::random_image<float>(rows, columns, 3);
            for (const Outside rule : rules) {
                const Border<float> border{rule, 0.5f};
                const Shape shape{filter_rows, filter_columns};
                Image<float> first{rows, columns};
                convolve<float>(image.all(), weights, first.all(), shape, {}, border);
                ASSERT_TRUE(first.gaps_are_untouched());
                for (std::size_t i = 0; i < rows; ++i) {
                    for (std::size_t j = 0; j < columns; ++j) {
                        const auto [sum, magnitude] = sum_at<float, float>(image, i, j, weights, shape, border);
                        ASSERT_NEAR(first(i, j), sum, 1e-6 * magnitude)
                            << filter_rows << 'x' << filter_columns << " at " << i << ' ' << j;
                    }
                }
                images::with_each_instruction_set([&] {
                    Image<float> again{rows, columns};
                    convolve<float>(image.all(), weights, again.all(), shape, {}, border);
                    EXPECT_EQ(again, first);
                });
            }
        }
    }
}

TEST(Convolution, of_bytes_is_the_exact_sum_divided_rounded_and_limited) {
    for (const auto& [filter_rows, filter_columns] : filters) {
        for (const auto& [most, shift] :
             {std::pair{2, 2}, std::pair{14, 7}, std::pair{30, 0}, std::pair{3000, 11}, std::pair{32767, 15}}) {
            const auto weights = random_weights<std::int16_t>(filter_rows * filter_columns, most);
            for (const auto& [rows, columns] : sizes) {
                const auto image = images::random_image<std::uint8_t>(rows, columns, 4);
                for (const Outside rule : rules) {
                    const Border<std::uint8_t> border{rule, 200};
                    const Shape shape{filter_rows, filter_columns, shift};
                    images::with_each_instruction_set([&, most = most] {
                        Image<std::uint8_t> out{rows, columns};
                        convolve<std::uint8_t>(image.all(), weights, out.all(), shape, {}, border);
                        ASSERT_TRUE(out.gaps_are_untouched());
                        for (std::size_t i = 0; i < rows; ++i) {
                            for (std::size_t j = 0; j < columns; ++j) {
                                const double sum =
                                    sum_at<std::uint8_t, std::int16_t>(image, i, j, weights, shape, border).first;
                                const double wanted =
                                    std::clamp(std::floor(std::ldexp(sum, -shape.shift) + 0.5), 0.0, 255.0);
                                ASSERT_EQ(out(i, j), wanted)
                                    << shape.rows << 'x' << shape.columns << " of " << most << " at " << i << ' ' << j;
                            }
                        }
                    });
                }
            }
        }
    }
}

template <class T>
void expect_tiles_to_be_the_whole(Shape shape, int most) {
    const auto weights = random_weights<Weight<T>>(shape.rows * shape.columns, most);
    const auto image = images::random_image<T>(40, 90, 5);
    for (const Outside rule : rules) {
        const Border<T> border{rule, T{1}};
        Image<T> whole{40, 90}, tiled{40, 90};
        convolve<T>(image.all(), weights, whole.all(), shape, {}, border);
        images::for_each_tile(40, 90, 13, 37, [&](Place at, std::array<std::size_t, 2> extents) {
            const auto [window, place] = images::window_of(image, at, extents, shape.rows / 2, shape.columns / 2);
            convolve<T>(window, weights, tiled.all().part({at.row, at.column}, extents), shape, place, border);
        });
        EXPECT_EQ(tiled, whole);
    }
}

TEST(Convolution, gives_the_same_bits_however_the_image_is_cut) {
    for (const auto& [rows, columns] :
         {std::pair{3, 3}, std::pair{5, 1}, std::pair{1, 5}, std::pair{5, 5}, std::pair{7, 9}}) {
        const auto r = static_cast<std::size_t>(rows), c = static_cast<std::size_t>(columns);
        expect_tiles_to_be_the_whole<float>({r, c}, 1);
        expect_tiles_to_be_the_whole<std::uint8_t>({r, c, 4}, 5);
        expect_tiles_to_be_the_whole<std::uint8_t>({r, c, 9}, 500);
    }
}

template <class T>
void expect_halves_to_be_the_product(std::size_t rows, std::size_t columns, int most, int shift) {
    const auto vertical = random_weights<Weight<T>>(rows, most),
               horizontal = random_weights<Weight<T>>(columns + 20, most);
    const std::span<const Weight<T>> across{horizontal.data(), columns};
    std::vector<double> product(rows * columns);
    for (std::size_t u = 0; u < rows; ++u)
        for (std::size_t v = 0; v < columns; ++v)
            product[u * columns + v] = static_cast<double>(vertical[u]) * across[v];
    for (const auto& [image_rows, image_columns] : sizes_of_halves) {
        const auto image = images::random_image<T>(image_rows, image_columns, 6);
        for (const Outside rule : rules) {
            const Border<T> border{rule, T{1}};
            Image<T> first{image_rows, image_columns};
            convolve_separable<T>(image.all(), vertical, across, first.all(), shift, {}, border);
            ASSERT_TRUE(first.gaps_are_untouched());
            for (std::size_t i = 0; i < image_rows; ++i) {
                for (std::size_t j = 0; j < image_columns; ++j) {
                    const auto [sum, magnitude] = sum_at<T, double>(image, i, j, product, {rows, columns}, border);
                    if constexpr (std::is_floating_point_v<T>) ASSERT_NEAR(first(i, j), sum, 1e-6 * magnitude);
                    else ASSERT_EQ(first(i, j), std::clamp(std::floor(std::ldexp(sum, -shift) + 0.5), 0.0, 255.0));
                }
            }
            images::with_each_instruction_set([&] {
                Image<T> again{image_rows, image_columns};
                convolve_separable<T>(image.all(), vertical, across, again.all(), shift, {}, border);
                EXPECT_EQ(again, first);
            });
            Image<T> tiled{image_rows, image_columns};
            images::for_each_tile(image_rows, image_columns, 4, 17, [&](Place at, std::array<std::size_t, 2> extents) {
                const auto [window, place] = images::window_of(image, at, extents, rows / 2, columns / 2);
                convolve_separable<T>(window, vertical, across, tiled.all().part({at.row, at.column}, extents), shift,
                                      place, border);
            });
            EXPECT_EQ(tiled, first);
        }
    }
}

TEST(Convolution, by_halves_is_that_by_their_product) {
    for (const auto& [rows, columns] : {std::pair{5, 5}, std::pair{3, 9}, std::pair{11, 4}, std::pair{1, 1}}) {
        const auto r = static_cast<std::size_t>(rows), c = static_cast<std::size_t>(columns);
        expect_halves_to_be_the_product<float>(r, c, 1, 0);
        expect_halves_to_be_the_product<std::uint8_t>(r, c, 11, 8);
        expect_halves_to_be_the_product<std::uint8_t>(r, c, 7, 3);
    }
}

TEST(Convolution, refuses_what_it_cannot_do_and_says_what) {
    Image<std::uint8_t> image{8, 8}, out{4, 4};
    const view<const std::uint8_t, 2> window = image.all();
    const auto refused = [&](auto call, const char* word) {
        try {
            call();
            ADD_FAILURE() << "not refused: " << word;
        } catch (const std::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
        }
    };
    refused([&] { convolve_3x3<std::uint8_t>(window, out.all(), {}, {5, 0}); }, "row 5");
    refused([&] { convolve_3x3<std::uint8_t>(window, out.all(), {{}, 16}); }, "16");
    const std::vector<std::int16_t> large(200, 32767);
    refused([&] { convolve_dense<std::uint8_t>(window, large, out.all(), {10, 20}); }, "32 bits");
    refused([&] { convolve_dense<std::uint8_t>(window, large, out.all(), {3, 3}); }, "3 x 3");
    refused(
        [&] {
            convolve_separable<std::uint8_t>(window, std::span(large).first(1), std::span(large).first(1), out.all());
        },
        "vertical");
    refused([&] { convolve_separable<std::uint8_t>(window, {}, {}, out.all()); }, "without weights");
}

}  // namespace
