// One sweep of Jacobi's method for Poisson's equation on a line.
#pragma once

#include <span>

namespace penstock::kernels {

/// to[i] = (from[i] + from[i + 2] + source[i]) / 2, added in this order. `from` holds to.size() + 2 elements: one more
/// at each end; `source` as many as `to`. The arrays must not overlap.
void jacobi(std::span<const float> from, std::span<const float> source, std::span<float> to) noexcept;

}  // namespace penstock::kernels
