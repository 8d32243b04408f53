#include "apps/h264/inter.hpp"

#include <cstring>

namespace penstock::apps::h264 {
namespace {

using kernels::h264::Interpolation;

// Where a quarter position is: one of the planes (whole, half right, half below, half both), or the mean of two, each
// at the pixel itself or at the one right of it or below.
struct Position {
    struct Sample {
        std::int8_t plane = 0, right = 0, down = 0;
    } first, second;
    bool mean = false;
};
constexpr std::array<Position, 16> positions = {{
    {{0, 0, 0}, {}, false},
    {{0, 0, 0}, {1, 0, 0}, true},
    {{1, 0, 0}, {}, false},
    {{1, 0, 0}, {0, 1, 0}, true},
    {{0, 0, 0}, {2, 0, 0}, true},
    {{1, 0, 0}, {2, 0, 0}, true},
    {{1, 0, 0}, {3, 0, 0}, true},
    {{1, 0, 0}, {2, 1, 0}, true},
    {{2, 0, 0}, {}, false},
    {{2, 0, 0}, {3, 0, 0}, true},
    {{3, 0, 0}, {}, false},
    {{3, 0, 0}, {2, 1, 0}, true},
    {{2, 0, 0}, {0, 0, 1}, true},
    {{2, 0, 0}, {1, 0, 1}, true},
    {{3, 0, 0}, {1, 0, 1}, true},
    {{2, 1, 0}, {1, 0, 1}, true},
}};

// A part of a macroblock in blocks of 4 x 4, and where it moved to in each list.
struct Part {
    int column, row, columns, rows;
    unsigned uses;
    std::array<Vector, lists> by;
};

// Copies or averages what both lists predict.
void put(const Interpolation& with, Predicted predicted, bool second, Pixel* to, Pitch pitch, int columns, int rows) {
    if (second) return with.mean(to, pitch, predicted.pixels, predicted.pitch, to, pitch, columns, rows);
    if (predicted.pixels == to) return;
    for (int row = 0; row < rows; ++row)
        std::memcpy(to + row * pitch, predicted.pixels + row * predicted.pitch, static_cast<std::size_t>(columns));
}

void predict_part(const Interpolation& with, std::array<const Picture*, 2> references, const Part& part, int x, int y,
                  Pixel* luma, Pixel* chroma) {
    const int columns = 4 * part.columns, rows = 4 * part.rows;
    x += 4 * part.column;
    y += 4 * part.row;
    Pixel* const to = luma + 64 * part.row + 4 * part.column;
    bool second = false;
    for (const int list : {earlier, later}) {
        if ((part.uses >> list & 1) == 0) continue;
        const Picture& from = *references[static_cast<std::size_t>(list)];
        const Vector by = part.by[static_cast<std::size_t>(list)];
        alignas(32) Pixel memory[256];
        put(with, predict_luma(with, from, x, y, by, columns, rows, second ? memory : to, 16), second, to, 16, columns,
            rows);
        for (int colour = 0; colour < 2; ++colour) {
            const Plane& plane = from.chroma(colour);
            Pixel* const into = chroma + 32 * part.row + 2 * part.column + 8 * colour;
            with.eighths(plane.at(x / 2 + (by.x >> 3), y / 2 + (by.y >> 3)), plane.pitch, second ? memory : into, 16,
                         by.x & 7, by.y & 7, columns / 2, rows / 2);
            if (second) with.mean(into, 16, memory, 16, into, 16, columns / 2, rows / 2);
        }
        second = true;
    }
}

}  // namespace

Predicted predict_luma(const Interpolation& with, const Picture& from, int x, int y, Vector by, int columns, int rows,
                       Pixel* memory, Pitch pitch) noexcept {
    const Position& position = positions[static_cast<std::size_t>((by.y & 3) * 4 + (by.x & 3))];
    const int column = x + (by.x >> 2), row = y + (by.y >> 2);
    const auto at = [&](const Position::Sample& sample) {
        return from.half(sample.plane).at(column + sample.right, row + sample.down);
    };
    const Pitch far = from.luma().pitch;
    if (!position.mean) return {at(position.first), far};
    with.mean(at(position.first), far, at(position.second), far, memory, pitch, columns, rows);
    return {memory, pitch};
}

namespace {

// A part of a macroblock at (x, y), in macroblocks.
Part part_of(const Macroblock& macroblock, int column, int row, int columns, int rows) noexcept {
    const int block = 4 * row + column;
    return {column,
            row,
            columns,
            rows,
            macroblock.uses[static_cast<std::size_t>(row / 2 * 2 + column / 2)],
            {macroblock.moved(earlier, block), macroblock.moved(later, block)}};
}

}  // namespace

void predict_quarter(const Interpolation& with, std::array<const Picture*, 2> references, const Macroblock& macroblock,
                     int x, int y, int quarter, Pixel* luma, Pixel* chroma) noexcept {
    const Parts parts = macroblock.from == From::neighbours
                            ? Parts::whole
                            : macroblock.quarter_parts[static_cast<std::size_t>(quarter)];
    const int columns = parts == Parts::whole || parts == Parts::rows ? 2 : 1,
              rows = parts == Parts::whole || parts == Parts::columns ? 2 : 1;
    for (int row = 0; row < 2; row += rows)
        for (int column = 0; column < 2; column += columns)
            predict_part(with, references,
                         part_of(macroblock, quarter % 2 * 2 + column, quarter / 2 * 2 + row, columns, rows), 16 * x,
                         16 * y, luma, chroma);
}

void predict_macroblock(const Interpolation& with, std::array<const Picture*, 2> references,
                        const Macroblock& macroblock, int x, int y, Pixel* luma, Pixel* chroma) noexcept {
    if (macroblock.from == From::neighbours || macroblock.parts == Parts::quarters) {
        for (int quarter = 0; quarter < 4; ++quarter)
            predict_quarter(with, references, macroblock, x, y, quarter, luma, chroma);
        return;
    }
    const int columns = macroblock.parts == Parts::columns ? 2 : 4, rows = macroblock.parts == Parts::rows ? 2 : 4;
    for (int row = 0; row < 4; row += rows)
        for (int column = 0; column < 4; column += columns)
            predict_part(with, references, part_of(macroblock, column, row, columns, rows), 16 * x, 16 * y, luma,
                         chroma);
}

}  // namespace penstock::apps::h264
