// Block matching: how well a block of one image fits to a place in another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/view.hpp"

namespace penstock::kernels::motion {

using Pixel = std::uint8_t;

/// The sum of absolute differences of two blocks of the same shape, of at most 2^24 pixels.
std::uint32_t sad(view<const Pixel, 2> block, view<const Pixel, 2> other) noexcept;

/// Where a block fits best.
struct Match {
    std::uint32_t sad = 0;
    std::int16_t down = 0;   ///< rows from the block's own place
    std::int16_t right = 0;  ///< columns from there
    bool operator==(const Match&) const = default;
};

/// A full search: the smallest sad() of `block` over all places of `window`, which is the block's own place in the
/// reference and up to `above` rows before it, `left` columns before it, and whatever it is larger by behind it. Of
/// equal ones the first in the order of rows, then columns.
Match search(view<const Pixel, 2> block, view<const Pixel, 2> window, std::size_t above, std::size_t left) noexcept;

}  // namespace penstock::kernels::motion
