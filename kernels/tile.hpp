// What the kernels of images say about tiles: where a tile lies in the image that it belongs to, and what is thought to
// lie around the image.
//
// A kernel that reads around its pixels gets a window and writes a tile of it. A tile inside an image is given a window
// that is larger than the tile by the reach of the filter; one at the image's edge gets a window that ends there, and
// what is missing is made up by the border's rule. So an image gives the same bits however it is cut.
#pragma once

#include <algorithm>
#include <cstddef>

namespace penstock::kernels {

/// The row and the column where something begins.
struct Place {
    std::size_t row = 0, column = 0;
    bool operator==(const Place&) const = default;
};

/// What lies outside of an image a b c d: c b | a b c d | c b (reflect101), a a | a b c d | d d (replicate), or one
/// value. OpenCV calls these BORDER_REFLECT_101, BORDER_REPLICATE and BORDER_CONSTANT; scipy.ndimage calls them mirror,
/// nearest and grid-constant. Reflections of reflections are taken as often as the distance needs them.
enum class Outside { reflect101, replicate, constant };

/// The rule, with the value that `constant` means.
template <class T>
struct Border {
    Outside rule = Outside::reflect101;
    T value{};
};

/// The index inside of `extent` (at least 1) that stands for `index`; -1 for the constant.
constexpr std::ptrdiff_t inside(std::ptrdiff_t index, std::size_t extent, Outside rule) noexcept {
    const auto size = static_cast<std::ptrdiff_t>(extent);
    if (index >= 0 && index < size) return index;
    if (rule == Outside::constant) return -1;
    if (rule == Outside::replicate) return std::clamp<std::ptrdiff_t>(index, 0, size - 1);
    if (size == 1) return 0;
    const std::ptrdiff_t period = 2 * (size - 1);
    const std::ptrdiff_t at = (index % period + period) % period;
    return at < size ? at : period - at;
}

}  // namespace penstock::kernels
