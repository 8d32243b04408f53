// Single-precision vector kernels of the BLAS shape: SAXPY and the rows of SGEMV.
#pragma once

#include <span>

namespace penstock::kernels {

/// y := a x + y, element by element. x and y have the same size and do not overlap.
void saxpy(std::span<const float> x, std::span<float> y, float a);

/// y := alpha A x + beta y for y.size() rows of a row-major A without gaps (y.size() x x.size() elements). With beta =
/// 0, y is not read. Sums run in 16 interleaved partial sums, so the rounding error grows with x.size() / 16 and not
/// with x.size().
void sgemv(std::span<const float> a, std::span<const float> x, std::span<float> y, float alpha, float beta);

}  // namespace penstock::kernels
