// The Fourier transform of a row of 2^m complex numbers, and the roots of unity that it and its users need.
//
// Stockham's algorithm with radix 4 (and one step of radix 2 where m is odd): no reordering of bits, each pass reads
// and writes from end to end. A plain kernel for rows that fit a core's own cache.
#pragma once

#include <complex>
#include <cstddef>
#include <span>

namespace penstock::kernels {

/// roots[k] := exp(-2 pi i k / n), computed in long double. `roots` holds the first of them, up to n; T may be long
/// double, too. Throws std::invalid_argument.
template <class T>
void fourier_roots(std::span<std::complex<T>> roots, std::size_t n);

/// row := its forward transform, not scaled. The number of elements is a power of two, `roots` are all of that number,
/// and `scratch` is as large as the row; the three do not overlap. Throws std::invalid_argument.
template <class T>
void fourier(std::span<std::complex<T>> row, std::span<const std::complex<T>> roots,
             std::span<std::complex<T>> scratch);

}  // namespace penstock::kernels
