// Prediction from other pictures (8.4.2).
#pragma once

#include "apps/h264/coder.hpp"

namespace penstock::apps::h264 {

/// A predicted block, where it lies: in a reference picture, or in the memory that was lent.
struct Predicted {
    const Pixel* pixels;
    Pitch pitch;
};

/// A block of luminance at (x, y) that moved by `by`. Blocks between two positions are computed into `memory`.
Predicted predict_luma(const kernels::h264::Interpolation& with, const Picture& from, int x, int y, Vector by,
                       int columns, int rows, Pixel* memory, Pitch pitch) noexcept;

/// Predicts a macroblock at (x, y), in macroblocks: luminance into rows of 16; chrominance into rows of 16, the first
/// colour at the left and the second at the right.
void predict_macroblock(const kernels::h264::Interpolation& with, std::array<const Picture*, 2> references,
                        const Macroblock& macroblock, int x, int y, Pixel* luma, Pixel* chroma) noexcept;
/// One quarter of it, at its place.
void predict_quarter(const kernels::h264::Interpolation& with, std::array<const Picture*, 2> references,
                     const Macroblock& macroblock, int x, int y, int quarter, Pixel* luma, Pixel* chroma) noexcept;

}  // namespace penstock::apps::h264
