// Affine transformations of images: turned, scaled, sheared and moved, with borders.
//
// The places of a row of the result are taken in strips of 8 columns of the whole result: the first place of a strip is
// computed in double precision, the others as distances from it in single precision (an error below 2^-20 of a pixel
// where the image is scaled by less than 2). So the bits depend neither on the processor nor on how the result is cut
// into tiles.
#pragma once

#include <array>

#include "kernels/tile.hpp"
#include "penstock/view.hpp"

namespace penstock::kernels {

/// Where the pixel at (row, column) of the result comes from: (m[0] row + m[1] column + m[2], m[3] row + m[4] column +
/// m[5]), in rows and columns of the image; pixel (0, 0) has its middle at (0, 0). The matrix and offset of
/// scipy.ndimage.affine_transform; for cv2.warpAffine, which says columns first, with WARP_INVERSE_MAP.
struct Affine {
    std::array<double, 6> m{1, 0, 0, 0, 1, 0};
};

/// nearest: the pixel whose middle is nearest (between two, the later one). bilinear: the four around, each weighted by
/// how near it is; of what lies outside, as the border says.
enum class Interpolation { nearest, bilinear };

/// A rectangle of an image.
struct Part {
    Place at;
    std::size_t rows = 0, columns = 0;
    bool operator==(const Part&) const = default;
};

/// Of which image a window is a part: where it begins there, and the whole's rows and columns. Nothing: the window is
/// the image.
struct Whole {
    Place at;
    std::size_t rows = 0, columns = 0;
};

/// Computes the tile of out's shape at `at` of the result, for T = float and std::uint8_t. For bytes the interpolation
/// is done in single precision and rounded to the nearest, a half to even. Throws std::invalid_argument for strided
/// rows, for an image without pixels, and for a window that does not hold what the tile needs: affine_part() says what
/// that is.
template <class T>
void affine(view<const T, 2> window, view<T, 2> out, Affine map, Interpolation interpolation = Interpolation::bilinear,
            Border<T> border = {}, Place at = {}, Whole whole = {});

/// The part of an image of rows x columns that affine() reads for the tile of the result, or a little more; empty (0
/// rows, 0 columns) when it reads nothing.
Part affine_part(Affine map, Part tile, std::size_t rows, std::size_t columns, Outside rule) noexcept;

}  // namespace penstock::kernels
