// The inverse discrete cosine transform of blocks of 8 x 8, as JPEG and MPEG use it.
#pragma once

#include <cstdint>
#include <span>

#include "penstock/view.hpp"

namespace penstock::kernels {

/// values := the orthonormal inverse transform (DCT-III in two dimensions; scipy.fft.idctn with norm "ortho") of each
/// block of 64 coefficients, row by row. Both have the same size, a multiple of 64, and may be the same memory.
/// Computed in single precision: the error stays below 10^-6 of the square root of the sum of the block's squares.
/// Throws std::invalid_argument.
void idct_8x8(std::span<const float> coefficients, std::span<float> values);

/// The blocks of an image, from whole coefficients as they come from a decoder, dequantised: pixels := the transform +
/// 128, rounded to the nearest (a half to even), limited to 0..255. `pixels` has multiples of 8 as rows and columns,
/// and `coefficients` 64 numbers for each block, the blocks from left to right and then from top to bottom. The last
/// stride of `pixels` must be 1.
void idct_8x8_pixels(std::span<const std::int16_t> coefficients, view<std::uint8_t, 2> pixels);

}  // namespace penstock::kernels
