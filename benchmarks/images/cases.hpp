// What is measured of the kernels of images, and on which images.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// One kernel on pixels of one type, as peers/images_server.py names it too.
struct ImageCase {
    std::string kernel, type;
    double bytes_a_pixel;          ///< that the kernel reads
    double bytes_written_a_pixel;  ///< that it writes
    /// Makes images of this size; the call that it gives does the kernel once, on all of the image.
    std::function<std::function<void()>(std::size_t rows, std::size_t columns)> make;
};

std::vector<ImageCase> image_cases();

}  // namespace bench
