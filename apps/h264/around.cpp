#include "apps/h264/around.hpp"

namespace penstock::apps::h264 {
namespace {

struct Motion {
    bool there = false;  ///< the neighbour is in the picture, and written before
    bool used = false;   ///< and refers to this list
    Vector by;
};

Motion motion_of(const Macroblock* macroblock, int list, int block) noexcept {
    if (macroblock == nullptr) return {};
    if (macroblock->from == From::itself || !macroblock->uses_list(list, block)) return {true, false, {}};
    return {true, true, macroblock->moved(list, block)};
}

/// Diagonally above at the right, or at the left where that is outside of the picture or not yet written.
Motion diagonal(const Around& around, int list, int column, int row, int columns) noexcept {
    const int right = column + columns;
    if (row == 0) {
        const Motion motion =
            right < 4 ? motion_of(around.above, list, 12 + right) : motion_of(around.above_right, list, 12);
        if (motion.there) return motion;
        return column == 0 ? motion_of(around.above_left, list, 15) : motion_of(around.above, list, 12 + column - 1);
    }
    if (right < 4 && block_in_order(4 * (row - 1) + right) < block_in_order(4 * row + column))
        return motion_of(around.here, list, 4 * (row - 1) + right);
    if (column == 0) return motion_of(around.left, list, 4 * (row - 1) + 3);
    return motion_of(around.here, list, 4 * (row - 1) + column - 1);
}

std::int16_t middle(std::int16_t a, std::int16_t b, std::int16_t c) noexcept {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

struct Three {
    Motion left, above, diagonal;
};

Three three(const Around& around, int list, int column, int row, int columns) noexcept {
    const int block = 4 * row + column;
    const Neighbour beside = left_of(around, block), over = above(around, block);
    return {motion_of(beside.macroblock, list, beside.block), motion_of(over.macroblock, list, over.block),
            diagonal(around, list, column, row, columns)};
}

Vector expected(const Three& of) noexcept {
    if (!of.above.there && !of.diagonal.there && of.left.there) return of.left.by;
    const int used = of.left.used + of.above.used + of.diagonal.used;
    if (used == 1) return of.left.used ? of.left.by : of.above.used ? of.above.by : of.diagonal.by;
    return {middle(of.left.by.x, of.above.by.x, of.diagonal.by.x),
            middle(of.left.by.y, of.above.by.y, of.diagonal.by.y)};
}

}  // namespace

Vector expected_motion(const Around& around, int list, int column, int row, int columns, Parts parts) noexcept {
    const Three of = three(around, list, column, row, columns);
    if (parts == Parts::rows) {
        const Motion& first = row == 0 ? of.above : of.left;
        if (first.used) return first.by;
    } else if (parts == Parts::columns) {
        const Motion& first = column == 0 ? of.left : of.diagonal;
        if (first.used) return first.by;
    }
    return expected(of);
}

Vector skipped_motion(const Around& around) noexcept {
    const Three of = three(around, earlier, 0, 0, 4);
    const auto still = [](const Motion& motion) { return motion.used && motion.by == Vector{}; };
    if (!of.left.there || !of.above.there || still(of.left) || still(of.above)) return {};
    return expected(of);
}

void direct_motion(const Around& around, const Macroblock& at_this_place, unsigned quarters) noexcept {
    Macroblock& here = *around.here;
    std::array<Vector, lists> by;
    unsigned uses = 0;
    for (const int list : {earlier, later}) {
        const Three of = three(around, list, 0, 0, 4);
        if (!of.left.used && !of.above.used && !of.diagonal.used) continue;
        uses |= 1u << list;
        by[static_cast<std::size_t>(list)] = expected(of);
    }
    const bool alone = uses == 0;
    if (alone) uses = 3;
    for (int quarter = 0; quarter < 4; ++quarter) {
        if ((quarters >> quarter & 1) == 0) continue;
        const int column = quarter % 2 * 2, row = quarter / 2 * 2;
        // The block at the corner of the macroblock stands for the quarter (direct_8x8_inference_flag).
        const int corner = 4 * (quarter / 2 * 3) + quarter % 2 * 3;
        const Vector there = at_this_place.moved(earlier, corner);
        const bool still = at_this_place.from != From::itself && at_this_place.uses_list(earlier, corner) &&
                           std::abs(there.x) <= 1 && std::abs(there.y) <= 1;
        here.uses[static_cast<std::size_t>(quarter)] = static_cast<std::uint8_t>(uses);
        for (const int list : {earlier, later})
            here.move(list, column, row, 2, 2, still || alone ? Vector{} : by[static_cast<std::size_t>(list)]);
    }
}

namespace {

// The mean of what the neighbours have, of those that are there.
int mean_total(bool left_there, int left, bool above_there, int above) noexcept {
    if (left_there && above_there) return (left + above + 1) / 2;
    return left_there ? left : above_there ? above : 0;
}

}  // namespace

int expected_total(const Around& around, int block) noexcept {
    const Neighbour beside = left_of(around, block), over = above(around, block);
    const auto total = [](const Neighbour& of) {
        return of.macroblock == nullptr ? 0 : int{of.macroblock->total[static_cast<std::size_t>(of.block)]};
    };
    return mean_total(beside.macroblock != nullptr, total(beside), over.macroblock != nullptr, total(over));
}

int expected_chroma_total(const Around& around, int colour, int block) noexcept {
    const auto total = [&](const Macroblock* of, int which) {
        return of == nullptr ? 0
                             : int{of->chroma_total[static_cast<std::size_t>(colour)][static_cast<std::size_t>(which)]};
    };
    const Macroblock* const beside = block % 2 != 0 ? around.here : around.left;
    const Macroblock* const over = block >= 2 ? around.here : around.above;
    return mean_total(beside != nullptr, total(beside, block ^ 1), over != nullptr, total(over, block ^ 2));
}

int expected_mode(const Around& around, int block) noexcept {
    constexpr int mean = 2;
    const auto mode = [](const Neighbour& of) {
        return of.macroblock->from == From::itself && of.macroblock->intra == Intra::blocks
                   ? int{of.macroblock->modes[static_cast<std::size_t>(of.block)]}
                   : mean;
    };
    const Neighbour beside = left_of(around, block), over = above(around, block);
    if (beside.macroblock == nullptr || over.macroblock == nullptr) return mean;
    return std::min(mode(beside), mode(over));
}

}  // namespace penstock::apps::h264
