// The stronger of two images: the greater magnitude, pixel by pixel.
#pragma once

#include "penstock/view.hpp"

namespace penstock::kernels {

/// out(i, j) := the greater of |a(i, j)| and |b(i, j)|; where one is not a number, so is the result. The three have the
/// same extents, the last stride of each must be 1, and out may be a or b itself. Throws std::invalid_argument when
/// that does not hold. Costs what the memory costs.
void stronger(view<const float, 2> a, view<const float, 2> b, view<float, 2> out);

}  // namespace penstock::kernels
