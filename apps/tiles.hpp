// A matrix cut into tiles: which part of it tile number t covers. Tiles on the lower and right edge may be smaller.
#pragma once

#include <algorithm>
#include <cstddef>

#include "apps/compare.hpp"
#include "penstock/view.hpp"

namespace penstock::apps {

/// Where a tile begins and how large it is.
struct Tile {
    std::size_t row, column, rows, columns;
};

/// The tiles of a matrix of `rows` x `columns`, numbered row by row.
struct Tiling {
    std::size_t rows, columns, tile_rows, tile_columns;

    std::size_t across() const noexcept { return parts(columns, tile_columns); }
    std::size_t count() const noexcept { return parts(rows, tile_rows) * across(); }
    Tile operator[](std::size_t number) const noexcept {
        const std::size_t row = number / across() * tile_rows;
        const std::size_t column = number % across() * tile_columns;
        return {row, column, std::min(tile_rows, rows - row), std::min(tile_columns, columns - column)};
    }
};

/// The part of a matrix that a tile covers, with `halo_rows` and `halo_columns` more of it below and to the right.
template <class T>
view<T, 2> part(view<T, 2> matrix, const Tile& tile, std::size_t halo_rows = 0, std::size_t halo_columns = 0) noexcept {
    return matrix.part({tile.row, tile.column}, {tile.rows + halo_rows, tile.columns + halo_columns});
}

}  // namespace penstock::apps
