// Pictures of any size made as large as another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/view.hpp"

namespace penstock::kernels {

/// out := the picture, of `channels` bytes a pixel, in out's rows and columns, each direction by itself. Made smaller,
/// a pixel is the mean of what it covers, parts of pixels counted as parts (INTER_AREA of OpenCV); made larger, it lies
/// between the two whose middles are nearest (INTER_LINEAR). Weights are of single precision; results are rounded to
/// the nearest, a half to even. Throws std::invalid_argument for strided rows, pictures without pixels, and rows that
/// are no multiple of `channels`.
void resize(view<const std::uint8_t, 2> picture, view<std::uint8_t, 2> out, std::size_t channels);

}  // namespace penstock::kernels
