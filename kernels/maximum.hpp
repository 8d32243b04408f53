// The greater of two images, pixel by pixel.
#pragma once

#include "penstock/view.hpp"

namespace penstock::kernels {

/// out(i, j) := the greater of a(i, j) and b(i, j), for T = std::uint8_t and float. Where one is not a number, so is
/// the result (numpy.maximum does the same); of zeros of both signs it is b's. The three have the same extents, the
/// last stride of each must be 1, and out may be a or b itself. Throws std::invalid_argument when that does not hold.
/// Costs what the memory costs.
template <class T>
void maximum(view<const T, 2> a, view<const T, 2> b, view<T, 2> out);

}  // namespace penstock::kernels
