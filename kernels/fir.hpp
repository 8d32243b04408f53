// Filters of samples with a finite response.
#pragma once

#include <complex>
#include <cstddef>
#include <span>

namespace penstock::kernels {

/// out[i] := sum over k of taps[k] * samples[i * step + taps.size() - 1 - k], for T = float and std::complex<float>: a
/// convolution, as scipy.signal.lfilter has it behind the samples that are given first. There are
/// (out.size() - 1) * step + taps.size() samples or more. Each sum is held in single precision, in the order of the
/// samples, each operation rounded apart. Throws std::invalid_argument.
template <class T>
void fir(std::span<const T> samples, std::span<const float> taps, std::span<T> out, std::size_t step = 1);

}  // namespace penstock::kernels
