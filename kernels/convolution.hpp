// Filters of images: 3 x 3, 5 x 1, 1 x 5, dense of any size, and separable; for pixels of float and of std::uint8_t.
//
// out(i, j) := sum over u, v of weight(u, v) * window(at.row + i + u - rows / 2, at.column + j + v - columns / 2),
// where the filter has rows x columns and the border says what lies outside of the window. That is a correlation, as
// cv2.filter2D and scipy.ndimage.correlate define it and as image processing calls a convolution: the filter is not
// turned round.
//
// float: at most five products of one row of the filter are summed before they are added to the pixel, in the order of
// the filter, each operation rounded apart. uint8: weights are whole numbers, and the exact sum is divided by 2^shift,
// rounded (a half upwards), and limited to 0..255. So the bits depend neither on the processor nor on how the image is
// cut into tiles.
//
// All throw std::invalid_argument for a tile beyond its window, strided rows, and weights that the sums would not hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "kernels/tile.hpp"
#include "penstock/view.hpp"

namespace penstock::kernels {

/// The type of a weight of a filter for pixels of T.
template <class T>
using Weight = std::conditional_t<std::is_floating_point_v<T>, T, std::int16_t>;

/// The weights of a small filter, row by row.
template <class T, std::size_t taps>
struct Filter {
    std::array<Weight<T>, taps> weights{};
};
template <std::size_t taps>
struct Filter<std::uint8_t, taps> {
    std::array<std::int16_t, taps> weights{};
    int shift = 0;  ///< 0 to 15: sums are divided by 2^shift
};

/// Filters the tile of out's shape at `at` of the window with 3 x 3 weights. For uint8 the fast path is taken while the
/// absolute weights sum up to 128 or less.
template <class T>
void convolve_3x3(view<const T, 2> window, view<T, 2> out, Filter<T, 9> filter, Place at = {}, Border<T> border = {});

/// The same with a column of 5 weights.
template <class T>
void convolve_5x1(view<const T, 2> window, view<T, 2> out, Filter<T, 5> filter, Place at = {}, Border<T> border = {});

/// The same with a row of 5 weights.
template <class T>
void convolve_1x5(view<const T, 2> window, view<T, 2> out, Filter<T, 5> filter, Place at = {}, Border<T> border = {});

/// What is left to say of a filter whose weights are a span.
struct Shape {
    std::size_t rows = 0, columns = 0;
    int shift = 0;  ///< for uint8, 0 to 15: sums are divided by 2^shift
};

/// Filters with any weights: shape.rows x shape.columns, row by row.
template <class T>
void convolve_dense(view<const T, 2> window, std::span<const Weight<T>> weights, view<T, 2> out, Shape shape,
                    Place at = {}, Border<T> border = {});

/// Filters with the outer product of `vertical` (a column of weights) and `horizontal` (a row of them). float: the sums
/// over the columns are rounded before they are weighted by `horizontal`. uint8: nothing is rounded before the end, for
/// which the absolute weights of `vertical` must sum up to 128 or less and those of `horizontal` to 32,768 or less;
/// sums are divided by 2^shift, 0 to 30 (always 0 for float). `out` must not overlap `window`.
template <class T>
void convolve_separable(view<const T, 2> window, std::span<const Weight<T>> vertical,
                        std::span<const Weight<T>> horizontal, view<T, 2> out, int shift = 0, Place at = {},
                        Border<T> border = {});

}  // namespace penstock::kernels
