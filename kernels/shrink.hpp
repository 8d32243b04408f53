// Pictures made smaller by a whole factor: each pixel is the mean of a square of pixels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/view.hpp"

namespace penstock::kernels {

/// out's pixel (i, j) := the mean, rounded (a half upwards), of the pixels of `picture` in rows i*factor up to but not
/// (i+1)*factor and columns likewise, as far as the picture goes. Pixels are `channels` bytes that follow one another,
/// each channel by itself, so rows have columns * channels bytes; out has as many rows and columns as squares are
/// begun. The last stride of each is 1. Throws std::invalid_argument when that does not hold, and for a factor outside
/// 1 to 64 or channels outside 1 to 4.
void shrink(view<const std::uint8_t, 2> picture, view<std::uint8_t, 2> out, std::size_t factor, std::size_t channels);

}  // namespace penstock::kernels
