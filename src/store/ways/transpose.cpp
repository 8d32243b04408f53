// What is left when whole lines have gone through registers: ragged edges, other elements, and everything without
// Highway.
#include "penstock/transpose.hpp"

#include <algorithm>
#include <cstring>

#include "store/ways/ways.hpp"

namespace penstock {
namespace {

/// A part of the target. `rows` by `columns` from (row, column) on.
struct Part {
    std::size_t row, rows, column, columns;
};

/// Line by line in a tile that stays in the first cache, then to its place.
template <class Copy>
void copy_part(const Transposition& block, const Part& part, std::size_t element, StoreWay way,
               Copy&& copy_element) noexcept {
    constexpr std::size_t tile_side = 8;
    alignas(ways::line) std::byte tile[tile_side][ways::line];
    const std::size_t across = std::max<std::size_t>(1, ways::line / element);
    for (std::size_t row = part.row; row < part.row + part.rows; row += tile_side) {
        const std::size_t rows = std::min(tile_side, part.row + part.rows - row);
        for (std::size_t column = part.column; column < part.column + part.columns; column += across) {
            const std::size_t columns = std::min(across, part.column + part.columns - column);
            const std::byte* const from = block.from + (column * block.from_pitch + row) * element;
            for (std::size_t c = 0; c < columns; ++c)
                for (std::size_t r = 0; r < rows; ++r)
                    copy_element(&tile[r][c * element], from + (c * block.from_pitch + r) * element);
            for (std::size_t r = 0; r < rows; ++r)
                store_bytes_unordered(block.to + ((row + r) * block.to_pitch + column) * element, tile[r],
                                      columns * element, way);
        }
    }
}

void copy_part(const Transposition& block, const Part& part, StoreWay way) noexcept {
    const auto fixed = [&]<std::size_t bytes>() {
        copy_part(block, part, bytes, way, [](std::byte* to, const std::byte* from) { std::memcpy(to, from, bytes); });
    };
    if (block.element == 1) return fixed.template operator()<1>();
    if (block.element == 2) return fixed.template operator()<2>();
    if (block.element == 4) return fixed.template operator()<4>();
    if (block.element == 8) return fixed.template operator()<8>();
    if (block.element == 16) return fixed.template operator()<16>();
    // Larger than a line, or no power of two: one by one.
    for (std::size_t r = part.row; r < part.row + part.rows; ++r)
        for (std::size_t c = part.column; c < part.column + part.columns; ++c)
            store_bytes_unordered(block.to + (r * block.to_pitch + c) * block.element,
                                  block.from + (c * block.from_pitch + r) * block.element, block.element, way);
}

/// Columns before the first whole line of every row. All of them where rows do not begin alike.
std::size_t columns_to_line(const Transposition& block, StoreWay way) noexcept {
    const bool alike = block.to_pitch * block.element % ways::line == 0 || block.rows == 1;
    const std::size_t bytes = ways::to_line(block.to);
    if (alike && bytes % block.element == 0) return std::min(block.columns, bytes / block.element);
    return way == StoreWay::plain ? 0 : block.columns;  // plain stores need no alignment
}

}  // namespace

void store_transposed(const Transposition& block, StoreWay way) noexcept {
    Part lines{0, 0, 0, 0};
    if (const auto through_registers = transpose_lines::of_element(block.element); through_registers != nullptr) {
        const std::size_t across = ways::line / block.element;
        lines.column = columns_to_line(block, way);
        lines.columns = (block.columns - lines.column) / across * across;
        lines.rows =
            block.rows / transpose_lines::rows_at_once(block.element) * transpose_lines::rows_at_once(block.element);
        if (lines.columns != 0 && lines.rows != 0) {
            Transposition whole = block;
            whole.to += lines.column * block.element;
            whole.from += lines.column * block.from_pitch * block.element;
            whole.rows = lines.rows;
            whole.columns = lines.columns;
            through_registers(whole, way);
        }
    }
    const std::size_t behind = lines.column + lines.columns;
    if (lines.columns == 0 || lines.rows == 0) {
        copy_part(block, {0, block.rows, 0, block.columns}, way);
    } else {
        copy_part(block, {0, block.rows, 0, lines.column}, way);
        copy_part(block, {lines.rows, block.rows - lines.rows, lines.column, lines.columns}, way);
        copy_part(block, {0, block.rows, behind, block.columns - behind}, way);
    }
    order_stores(way);
}

}  // namespace penstock
