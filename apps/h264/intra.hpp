// Prediction from neighbours in the picture (8.3).
#pragma once

#include <array>

#include "apps/h264/macroblock.hpp"

namespace penstock::apps::h264 {

/// The pixels around a square block that are reconstructed already, or the source's in their place.
struct Edges {
    const Pixel* above = nullptr;  ///< of the row above; null outside of the picture
    const Pixel* left = nullptr;   ///< the first of the column at the left; null outside
    Pitch left_pitch = 0;
    Pixel corner = 0;  ///< above left; where both are there
    int beside(int row) const noexcept { return left[row * left_pitch]; }
};

/// Modes of a whole macroblock, and in which order chrominance has them.
enum WholeMode : std::uint8_t { upright, level, mean, sloping };
inline constexpr std::array<WholeMode, 4> chroma_modes = {mean, level, upright, sloping};

/// Whether a mode can be used: it has the neighbours that it needs.
bool usable(WholeMode mode, const Edges& edges) noexcept;
/// Predicts a block of side 16 (luminance) or 8 (chrominance).
void predict(WholeMode mode, const Edges& edges, int side, Pixel* to, Pitch pitch) noexcept;

/// The edge of a block of 4 x 4 in one line: from below left up, the corner, and to the right: four, one, eight pixels.
struct Line {
    std::array<Pixel, 13> pixels{};
    bool left = false, above = false, corner = false;
};
inline constexpr int block_modes = 9;
bool usable_for_block(int mode, const Line& line) noexcept;
/// Rows of `pitch`.
void predict_block(int mode, const Line& line, Pixel* to, Pitch pitch) noexcept;

}  // namespace penstock::apps::h264
