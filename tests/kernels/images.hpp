// What the tests of the image kernels share: images at a pitch, every instruction set, every way to cut an image into
// tiles.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/instruction_set.hpp"
#include "kernels/tile.hpp"
#include "penstock/view.hpp"

namespace images {

/// An image whose rows lie apart by more than they are long; what lies between them must not change.
template <class T>
class Image {
  public:
    static constexpr std::size_t gap = 5;
    static constexpr T untouched{77};

    Image(std::size_t rows, std::size_t columns)
        : rows_(rows), columns_(columns), pixels_(rows * (columns + gap), untouched) {}

    penstock::view<T, 2> all() {
        return {pixels_.data(), rows_, columns_, static_cast<std::ptrdiff_t>(columns_ + gap)};
    }
    penstock::view<const T, 2> all() const {
        return {pixels_.data(), rows_, columns_, static_cast<std::ptrdiff_t>(columns_ + gap)};
    }
    T operator()(std::size_t row, std::size_t column) const { return all()(row, column); }
    std::size_t rows() const { return rows_; }
    std::size_t columns() const { return columns_; }
    /// The same bits in every pixel and between the rows (so NaNs are equal to themselves).
    bool operator==(const Image& other) const {
        return rows_ == other.rows_ && columns_ == other.columns_ &&
               std::memcmp(pixels_.data(), other.pixels_.data(), pixels_.size() * sizeof(T)) == 0;
    }
    bool gaps_are_untouched() const {
        for (std::size_t i = 0; i < rows_; ++i)
            for (std::size_t j = columns_; j < columns_ + gap; ++j)
                if (pixels_[i * (columns_ + gap) + j] != untouched) return false;
        return true;
    }

  private:
    std::size_t rows_, columns_;
    std::vector<T> pixels_;
};

template <class T>
Image<T> random_image(std::size_t rows, std::size_t columns, unsigned seed) {
    Image<T> image{rows, columns};
    std::mt19937 generator{seed};
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
            if constexpr (std::is_floating_point_v<T>)
                image.all()(i, j) = std::uniform_real_distribution<T>{-1, 1}(generator);
            else image.all()(i, j) = static_cast<T>(generator() >> 24);
        }
    }
    return image;
}

/// Calls body once for each instruction set of this processor, and takes the best again.
template <class Body>
void with_each_instruction_set(Body body) {
    using penstock::kernels::InstructionSet;
    for (const auto set : {InstructionSet::plain, InstructionSet::vectors16, InstructionSet::vectors32}) {
        if (penstock::kernels::limit_instruction_set(set) != set) break;
        SCOPED_TRACE("instruction set " + std::to_string(static_cast<int>(set)));
        body();
    }
    penstock::kernels::limit_instruction_set(InstructionSet::vectors32);
}

/// Cuts a whole of rows x columns into tiles of that size and calls body(place, extents) for each.
template <class Body>
void for_each_tile(std::size_t rows, std::size_t columns, std::size_t tile_rows, std::size_t tile_columns, Body body) {
    for (std::size_t i = 0; i < rows; i += tile_rows)
        for (std::size_t j = 0; j < columns; j += tile_columns)
            body(penstock::kernels::Place{i, j},
                 std::array{std::min(tile_rows, rows - i), std::min(tile_columns, columns - j)});
}

/// The smallest window for a tile of `extents` at `at` of `image` that a filter needs which reaches that many rows and
/// columns in each direction, and where the tile begins in it.
template <class T>
std::pair<penstock::view<const T, 2>, penstock::kernels::Place> window_of(const Image<T>& image,
                                                                          penstock::kernels::Place at,
                                                                          std::array<std::size_t, 2> extents,
                                                                          std::size_t rows, std::size_t columns) {
    const std::size_t top = at.row - std::min(at.row, rows), left = at.column - std::min(at.column, columns);
    const std::size_t bottom = std::min(image.rows(), at.row + extents[0] + rows);
    const std::size_t right = std::min(image.columns(), at.column + extents[1] + columns);
    return {image.all().part({top, left}, {bottom - top, right - left}), {at.row - top, at.column - left}};
}

}  // namespace images
