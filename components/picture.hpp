// What the classes say about the buffers that they share.
//
// A picture is a buffer of rows x columns x channels, of bytes (RGB, or one channel of grey) or of float32. Buffers of
// two dimensions are taken for pictures of one channel.
//
// Tags: `user[0]` is the number of the picture, file or film, from 0. `user[1]` is the place in a grid, where the
// picture is one tile of a larger one (Grid below), or else whatever the source says. `time` is that of the source: see
// there. So what was cut can be put together again, whatever was done with the tiles in between.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "penstock/buffer.hpp"
#include "penstock/error.hpp"
#include "penstock/view.hpp"

namespace penstock::components {

struct PictureShape {
    std::size_t rows = 0, columns = 0, channels = 1;
    std::size_t pixels() const noexcept { return rows * columns; }
    bool operator==(const PictureShape&) const = default;
};

inline std::string text_of(const PictureShape& shape) {
    return std::to_string(shape.rows) + " x " + std::to_string(shape.columns) + " x " + std::to_string(shape.channels);
}

/// Throws UsageError for a buffer that is no picture.
template <class T>
PictureShape shape_of(const Buffer<T>& buffer) {
    if (buffer.rank() == 2) return {buffer.extent(0), buffer.extent(1), 1};
    if (buffer.rank() == 3) return {buffer.extent(0), buffer.extent(1), buffer.extent(2)};
    throw UsageError("it got a buffer of " + std::to_string(buffer.size()) +
                     " values in one dimension, and takes pictures: rows x columns x channels");
}

/// The same, which must have so many channels.
template <class T>
PictureShape shape_of(const Buffer<T>& buffer, std::size_t channels) {
    const auto shape = shape_of(buffer);
    if (shape.channels != channels)
        throw UsageError("it got a picture of " + text_of(shape) + ", and takes " + std::to_string(channels) +
                         (channels == 1 ? " channel: put `grey` or `channel` before it" : " channels"));
    return shape;
}

/// Rows of columns * channels values, as the kernels take them.
template <class T>
view<const T, 2> rows_of(const Buffer<T>& buffer) {
    const auto shape = shape_of(buffer);
    return {buffer.span().data(), {shape.rows, shape.columns * shape.channels}};
}
template <class T>
view<T, 2> edit_rows(Buffer<T>& buffer) {
    const auto shape = shape_of(buffer);
    return {buffer.edit().data(), {shape.rows, shape.columns * shape.channels}};
}

/// Rounded, and cut off at 0 and 255; what is no number is black.
inline std::uint8_t byte_of(float value) noexcept {
    const auto rounded = std::nearbyint(value);
    return static_cast<std::uint8_t>(rounded >= 255 ? 255 : rounded > 0 ? rounded : 0);
}

/// A buffer for a picture of this shape, from an output.
template <class Output>
auto make_picture(Output& output, const PictureShape& shape) {
    return output.make(shape.rows, shape.columns, shape.channels);
}

/// Where a tile lies in a grid of tiles: its row and column there, and the rows and columns of the whole grid.
struct Grid {
    std::uint16_t row = 0, column = 0, rows = 1, columns = 1;

    std::size_t count() const noexcept { return std::size_t{rows} * columns; }
    std::size_t number() const noexcept { return std::size_t{row} * columns + column; }
    std::uint64_t tag() const noexcept {
        return std::uint64_t{row} << 48 | std::uint64_t{column} << 32 | std::uint64_t{rows} << 16 | columns;
    }
    /// Throws UsageError for a tag that says no place.
    static Grid of(std::uint64_t tag) {
        const auto part = [tag](int shift) { return static_cast<std::uint16_t>(tag >> shift & 0xffff); };
        const Grid grid{part(48), part(32), part(16), part(0)};
        if (grid.row >= grid.rows || grid.column >= grid.columns)
            throw UsageError(
                "it got a picture that says nowhere where it lies in a larger one: only tiles of `cut`, "
                "`read-slide` or `place` do (tag user[1])");
        return grid;
    }
    static constexpr std::size_t most = std::numeric_limits<std::uint16_t>::max();
};

}  // namespace penstock::components
