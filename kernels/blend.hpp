// Two images laid over one another.
#pragma once

#include <cstdint>

#include "penstock/view.hpp"

namespace penstock::kernels {

/// out(i, j) := (a(i, j) (256 - share) + b(i, j) share + 128) / 256, for bytes; share: 0 (a alone) to 256 (b alone).
/// The three have the same extents, the last stride of each must be 1, and out may be a or b itself. Throws
/// std::invalid_argument when that does not hold.
void blend(view<const std::uint8_t, 2> a, view<const std::uint8_t, 2> b, view<std::uint8_t, 2> out, unsigned share);

}  // namespace penstock::kernels
