// Arrays and pictures in files, for applications that are written down: NumPy's .npy, PNM (.ppm) and, where there is
// libjpeg-turbo, JPEG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/picture.hpp"

namespace penstock::apps {

/// The elements of an array, row after row.
template <class T>
struct FileArray {
    std::vector<std::size_t> shape;
    std::vector<T> values;
};

/// A .npy file of elements of type T (uint8, uint32, float, double), rows first. Throws SystemError when it cannot be
/// read, UsageError when it holds something else, with what it holds.
template <class T>
FileArray<T> read_array(const std::string& path);

/// Throws SystemError when it cannot be written.
template <class T>
void write_array(const std::string& path, std::span<const std::size_t> shape, std::span<const T> values);

/// A picture by its ending: .npy (rows x columns x 3, uint8), .ppm (binary, 8 bits), .jpg or .jpeg. Throws as
/// read_array(); JpegError.
Picture read_picture(const std::string& path);

/// By its ending: .npy or .ppm. Throws SystemError when it cannot be written, UsageError for another ending.
void write_picture(const std::string& path, const Picture& picture);

/// The picture at `path`, mirrored to the size; spots() where `path` is empty, as picture_of() has it.
Picture picture_from(const std::string& path, std::size_t rows, std::size_t columns, std::uint32_t seed);

}  // namespace penstock::apps
