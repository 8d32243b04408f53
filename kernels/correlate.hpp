// Dense two-dimensional filtering of a window of an image.
#pragma once

#include <span>

#include "penstock/view.hpp"

namespace penstock::kernels {

/// out(i, j) := sum over u, v of filter(u, v) * window(i + u, j + v): correlation, as cv2.filter2D and
/// scipy.ndimage.correlate define it. The filter is row-major, without gaps; its shape follows from the others:
/// window.extent - out.extent + 1 rows and columns. At most five products are summed before they are added to the
/// pixel, so for 5 x 5 the error stays below 10 * 2^-24 of the sum of |filter * window|. The last stride of window and
/// out must be 1.
void correlate(view<const float, 2> window, std::span<const float> filter, view<float, 2> out);

}  // namespace penstock::kernels
