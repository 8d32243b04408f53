// YUV to RGB, for bytes, as BT.601 defines the colours of digital television.
#pragma once

#include <cstdint>

#include "penstock/view.hpp"

namespace penstock::kernels {

/// studio: black is 16 and white is 235 (video). full: 0 and 255 (JPEG). Chrominance is 0 at 128 in both.
enum class YuvRange { studio, full };

/// rgb(i, 3 j .. 3 j + 2) := red, green and blue of the pixel whose luminance is y(i, j). u and v are as large as y, or
/// have half the columns, or half the rows and columns (4:4:4, 4:2:2, 4:2:0; halves of odd numbers rounded up): each
/// value then serves 2 or 2 x 2 pixels. So a tile of a larger image begins at an even row and column.
///
/// The values of the definition are computed in 16 bits with 6 digits behind the point, rounded, and limited to 0..255:
/// each is less than 0.53 away from the definition in exact numbers. Throws std::invalid_argument for shapes that do
/// not fit.
void yuv_to_rgb(view<const std::uint8_t, 2> y, view<const std::uint8_t, 2> u, view<const std::uint8_t, 2> v,
                view<std::uint8_t, 2> rgb, YuvRange range = YuvRange::studio);

}  // namespace penstock::kernels
