// Settings that the filters of several applications share: which picture is read, and how it is cut into tiles.
#pragma once

#include <cstdint>
#include <string>

#include "apps/files.hpp"
#include "apps/tiles.hpp"
#include "penstock/filter.hpp"

namespace penstock::apps {

/// The tiles of a picture.
struct TileSettings {
    Setting<int> rows{"rows", 512, {.unit = "pixels", .least = 1, .most = 1 << 20}};
    Setting<int> columns{"columns", 1024, {.unit = "pixels", .least = 1, .most = 1 << 20}};
    Setting<int> tile_rows{"tile-rows", 128, {.unit = "pixels", .least = 1, .most = 1 << 16}};
    Setting<int> tile_columns{"tile-columns", 128, {.unit = "pixels", .least = 1, .most = 1 << 16}};
    Tiling tiling() const {
        const auto size = [](int side) { return static_cast<std::size_t>(side); };
        return {size(rows), size(columns), size(tile_rows), size(tile_columns)};
    }
};

/// A picture from a file, or a made one, mirrored to so many rows and columns, in tiles.
struct PictureSettings : TileSettings {
    Setting<std::string> image{"image", ""};
    Setting<std::int64_t> seed{"seed", 1, {.least = 0, .most = 4294967295.0}};
    Picture picture() const {
        const Tiling cut = tiling();
        return picture_from(image, cut.rows, cut.columns, static_cast<std::uint32_t>(seed.get()));
    }
};

/// How often a source gives what it has.
struct PassSetting {
    Setting<std::int64_t> passes{"passes", 1, {.least = 1, .most = 1e12}};
    std::size_t count() const noexcept { return static_cast<std::size_t>(passes.get()); }
};

}  // namespace penstock::apps
