// The neighbours of a macroblock in its picture, and what is predicted from them: motion, modes, numbers of levels.
#pragma once

#include "apps/h264/macroblock.hpp"
#include "apps/h264/picture.hpp"

namespace penstock::apps::h264 {

/// A macroblock and those of its neighbours that are written before it; null outside of the picture.
struct Around {
    Around(Macroblock* blocks, Size size, int x, int y) noexcept
        : here{blocks + y * size.across() + x}, left{x > 0 ? here - 1 : nullptr},
          above{y > 0 ? here - size.across() : nullptr},
          above_left{x > 0 && y > 0 ? here - size.across() - 1 : nullptr},
          above_right{x + 1 < size.across() && y > 0 ? here - size.across() + 1 : nullptr} {}

    Macroblock* here;
    const Macroblock *left, *above, *above_left, *above_right;
};

/// The block of 4 x 4 beside, above or diagonally above a place in a macroblock: whose, and which one.
struct Neighbour {
    const Macroblock* macroblock = nullptr;
    int block = 0;
};

inline Neighbour left_of(const Around& around, int block) noexcept {
    return block % 4 != 0 ? Neighbour{around.here, block - 1} : Neighbour{around.left, block + 3};
}
inline Neighbour above(const Around& around, int block) noexcept {
    return block >= 4 ? Neighbour{around.here, block - 4} : Neighbour{around.above, block + 12};
}

/// The motion that is expected of a part that begins at block (column, row) and is `columns` wide (8.4.1.3).
/// `shape`: of two halves of a macroblock each looks into another direction first.
Vector expected_motion(const Around& around, int list, int column, int row, int columns, Parts parts) noexcept;

/// The motion of a P macroblock that is skipped (8.4.1.1).
Vector skipped_motion(const Around& around) noexcept;

/// Gives the macroblock the motion of a B macroblock, or of those of its quarters that are in `quarters`, that is not
/// written but follows from its neighbours and from the one at this place in the later picture (8.4.1.2.2).
void direct_motion(const Around& around, const Macroblock& at_this_place, unsigned quarters) noexcept;

/// The number of levels that is expected of a block (9.2.1).
int expected_total(const Around& around, int block) noexcept;
int expected_chroma_total(const Around& around, int colour, int block) noexcept;

/// The mode that is expected of a block of 4 x 4 (8.3.1.1).
int expected_mode(const Around& around, int block) noexcept;

}  // namespace penstock::apps::h264
