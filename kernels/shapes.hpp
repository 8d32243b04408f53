// What the kernels refuse: images whose shapes do not fit to one another.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels/tile.hpp"
#include "penstock/view.hpp"

namespace penstock::kernels {

template <class T>
std::string shape_text(view<T, 2> image) {
    return std::to_string(image.extent(0)) + " x " + std::to_string(image.extent(1));
}

/// Throws std::invalid_argument unless the pixels of a row follow one another.
template <class T>
void need_rows(const char* kernel, const char* argument, view<T, 2> image) {
    if (image.stride(1) != 1 && image.extent(1) > 1) [[unlikely]]
        throw std::invalid_argument(std::string(kernel) + ": the pixels of a row of `" + argument + "` lie " +
                                    std::to_string(image.stride(1)) + " elements apart; they must follow one another");
}

/// Throws std::invalid_argument unless both have the same rows and columns.
template <class T, class U>
void need_same_shape(const char* kernel, const char* argument, view<T, 2> image, const char* other_argument,
                     view<U, 2> other) {
    if (image.extents() != other.extents()) [[unlikely]]
        throw std::invalid_argument(std::string(kernel) + ": `" + argument + "` is " + shape_text(image) + " and `" +
                                    other_argument + "` is " + shape_text(other) + "; they must have the same shape");
}

/// Throws std::invalid_argument unless a tile of this shape at this place lies within the window.
template <class T, class U>
void need_within(const char* kernel, view<T, 2> window, view<U, 2> tile, Place at) {
    if (tile.extent(0) > window.extent(0) || at.row > window.extent(0) - tile.extent(0) ||
        tile.extent(1) > window.extent(1) || at.column > window.extent(1) - tile.extent(1)) [[unlikely]]
        throw std::invalid_argument(std::string(kernel) + ": a tile of " + shape_text(tile) + " at row " +
                                    std::to_string(at.row) + ", column " + std::to_string(at.column) +
                                    " reaches beyond the window of " + shape_text(window));
}

}  // namespace penstock::kernels
