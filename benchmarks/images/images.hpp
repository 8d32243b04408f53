// The kernels of images against OpenCV, scikit-image, SciPy and NumPy, on one processor each.
#pragma once

#include "harness/report.hpp"

namespace bench {

inline constexpr const char* worst_kernel = "kernels/worst";

/// Adds a row for each kernel, type and size, and judges worst_kernel.
void measure_images(const Options& options, Report& report);

}  // namespace bench
