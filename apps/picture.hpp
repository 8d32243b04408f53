// Pictures of 3 bytes a pixel: made as large as an application needs them, out of a given one or out of nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "apps/buffer.hpp"
#include "apps/report.hpp"
#include "apps/tiles.hpp"
#include "penstock/view.hpp"

namespace penstock::apps {

/// Red, green and blue of each pixel, row after row.
struct Picture {
    std::size_t rows, columns;
    Buffer<std::uint8_t> rgb;

    Picture(std::size_t of_rows, std::size_t of_columns)
        : rows{of_rows}, columns{of_columns}, rgb{of_rows * of_columns * 3} {}
    /// rows x 3 columns.
    view<std::uint8_t, 2> all() const noexcept { return {rgb.data(), {rows, 3 * columns}}; }
    /// The pixels of a tile.
    view<const std::uint8_t, 2> part(const Tile& tile) const noexcept {
        return all().part({tile.row, 3 * tile.column}, {tile.rows, 3 * tile.columns});
    }
};

/// The top left part of `rgb`, which goes on as if between mirrors (d c b | a b c d | c b a) where it is too small.
/// Neither may be empty.
Picture mirrored(view<const std::uint8_t, 2> rgb, std::size_t rows, std::size_t columns);

/// Brown and blue spots on a light ground, soft and noisy, as a stained tissue under the microscope. The same for the
/// same seed.
Picture spots(std::size_t rows, std::size_t columns, std::uint32_t seed);

/// The input "image" (any rows x any columns x 3, uint8) as large as the settings say, or spots. Throws SettingError.
Picture picture_of(const std::string& app, const Settings& settings);

}  // namespace penstock::apps
