// Sum of two matrices.
#pragma once

#include "penstock/view.hpp"

namespace penstock::kernels {

/// sum(i, j) := a(i, j) + b(i, j). The three have the same extents; the last stride of each must be 1.
void add(view<const float, 2> a, view<const float, 2> b, view<float, 2> sum);

}  // namespace penstock::kernels
