// One row of a filtered image, from rows that are all there: what is left of a convolution when its borders are dealt
// with.
//
// Sources are rows[0 .. size.rows), each with columns + size.columns - 1 elements; out(j) is the sum over u, v of
// weights[u * size.columns + v] * rows[u][j + v].
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace penstock::kernels::rows {

/// Rows and columns of the filter.
struct Size {
    std::size_t rows, columns;
};

/// That many products of a row of the filter are summed before they are added to the pixel.
inline constexpr std::size_t most_summed = 5;

/// The sum for one element, whose taps `at(u, v)` gives. The vectors round where this does.
template <class At>
inline float sum(Size size, const float* weights, At at) {
    float total = 0;
    for (std::size_t u = 0; u < size.rows; ++u) {
        for (std::size_t first = 0; first < size.columns; first += most_summed) {
            const std::size_t end = std::min(first + most_summed, size.columns);
            const float* weight = weights + u * size.columns;
            float part = weight[first] * at(u, first);
            for (std::size_t v = first + 1; v < end; ++v) part += weight[v] * at(u, v);
            total = u == 0 && first == 0 ? part : total + part;
        }
    }
    return total;
}

template <class At>
inline std::int32_t sum(Size size, const std::int16_t* weights, At at) {
    std::int32_t total = 0;
    for (std::size_t u = 0; u < size.rows; ++u)
        for (std::size_t v = 0; v < size.columns; ++v) total += weights[u * size.columns + v] * at(u, v);
    return total;
}

/// total / 2^shift, rounded, a half upwards, and limited.
inline std::uint8_t to_byte(std::int32_t total, int shift) {
    const std::int32_t half = shift > 0 ? std::int32_t{1} << (shift - 1) : 0;
    return static_cast<std::uint8_t>(std::clamp((total + half) >> shift, 0, 255));
}

void filter(const float* const* from, Size size, const float* weights, float* out, std::size_t columns);

/// narrow: the absolute weights sum up to 128 or less and the shift is at most 7, so that 16 bits hold every sum.
void filter(const std::uint8_t* const* from, Size size, const std::int16_t* weights, int shift, bool narrow,
            std::uint8_t* out, std::size_t columns);

/// The two halves of a separable filter of bytes: sums of a column of weights, not divided ...
void filter_vertically(const std::uint8_t* const* from, std::size_t taps, const std::int16_t* weights,
                       std::int16_t* out, std::size_t columns);
/// ... and of a row of weights over those sums.
void filter_horizontally(const std::int16_t* from, std::size_t taps, const std::int16_t* weights, int shift,
                         std::uint8_t* out, std::size_t columns);

}  // namespace penstock::kernels::rows
