// What is decided about a macroblock, which is 16 x 16 pixels: how it is predicted, and the levels of what is left.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "kernels/h264.hpp"

namespace penstock::apps::h264 {

using kernels::h264::Coefficient;
using kernels::h264::Pitch;
using kernels::h264::Pixel;
using kernels::h264::Shape;
using kernels::h264::Strip;

/// Motion in quarter pixels.
struct Vector {
    std::int16_t x = 0, y = 0;
    bool operator==(const Vector&) const = default;
};

/// What a macroblock is predicted from.
enum class From : std::uint8_t {
    itself,      ///< intra: from its neighbours in the picture
    others,      ///< inter: from other pictures
    neighbours,  ///< B pictures, direct: from both other pictures, by the motion of its neighbours
};

/// How it is predicted from itself.
enum class Intra : std::uint8_t {
    whole,    ///< Intra_16x16
    blocks,   ///< Intra_4x4
    samples,  ///< I_PCM: not at all, the pixels are written
};

/// How a macroblock, or a quarter of it, is parted for motion.
enum class Parts : std::uint8_t { whole, rows, columns, quarters };

/// The lists of reference pictures: earlier ones, later ones.
inline constexpr int lists = 2;
inline constexpr int earlier = 0, later = 1;

/// What the neighbours of a macroblock, the loop filter and later pictures want to know of it.
struct Macroblock {
    // Written by Coder::decide alone.
    From from = From::itself;
    Parts parts = Parts::whole;
    std::array<Parts, 4> quarter_parts{};  ///< of each quarter, where parts is quarters
    std::array<bool, 4> quarter_direct{};  ///< in B pictures
    std::array<std::uint8_t, 4> uses{};    ///< of each quarter: bit 0 an earlier picture, bit 1 a later one
    std::array<std::array<Vector, 16>, lists> motion{};  ///< by rows of blocks of 4 x 4; 0 where a list is not used
    // Written by Coder::reconstruct alone.
    Intra intra = Intra::whole;
    std::uint8_t luma_mode = 0;  ///< of Intra::whole
    std::uint8_t chroma_mode = 0;
    bool skipped = false;                  ///< P_Skip or B_Skip
    std::uint8_t coded = 0;                ///< coded_block_pattern: bits 0 to 3 quarters, 4 and 5 chrominance
    std::array<std::uint8_t, 16> modes{};  ///< of Intra::blocks, by rows of blocks
    std::array<std::uint8_t, 16> total{};  ///< levels that are not 0, of each block of luminance, by rows
    std::array<std::array<std::uint8_t, 4>, 2> chroma_total{};

    bool uses_list(int list, int block) const noexcept {
        return (uses[static_cast<std::size_t>(block / 8 * 2 + block % 4 / 2)] >> list & 1) != 0;
    }
    Vector moved(int list, int block) const noexcept {
        return motion[static_cast<std::size_t>(list)][static_cast<std::size_t>(block)];
    }
    /// Columns and rows of blocks of 4 x 4.
    void move(int list, int column, int row, int columns, int rows, Vector by) noexcept {
        for (int y = row; y < row + rows; ++y)
            for (int x = column; x < column + columns; ++x)
                motion[static_cast<std::size_t>(list)][static_cast<std::size_t>(4 * y + x)] = by;
    }
};

/// The levels of a macroblock, as strips of four blocks (kernels::h264::Strip), with a bit for each that is not 0.
struct Levels {
    alignas(32) std::array<Strip, 4> luma;    ///< rows of blocks
    alignas(32) std::array<Strip, 2> chroma;  ///< rows of blocks: two of the first colour, two of the second
    std::array<std::uint64_t, 4> luma_found{};
    std::array<std::uint64_t, 2> chroma_found{};
    std::array<Coefficient, 16> luma_first{};                  ///< of intra16, in the order in which they are written
    std::array<std::array<Coefficient, 4>, 2> chroma_first{};  ///< of each colour
};

/// The block of 4 x 4 at this place in the order in which blocks are written, as 4 * row + column, and back: the same.
constexpr int block_in_order(int i) noexcept { return (i & 8) | (i & 2) << 1 | (i & 4) >> 1 | (i & 1); }

}  // namespace penstock::apps::h264
