#include "kernels/fourier.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace penstock::kernels {
namespace {

// Products by hand: those of std::complex look for infinities.
template <class T>
std::complex<T> product(std::complex<T> a, std::complex<T> b) noexcept {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class T>
std::complex<T> times_i(std::complex<T> a) noexcept {
    return {-a.imag(), a.real()};
}

/// A pass over sub-transforms of `length`, of which `stride` lie in one another: each becomes four of a quarter of the
/// length.
template <class T>
void pass_of_four(std::size_t length, std::size_t stride, const std::complex<T>* __restrict from,
                  std::complex<T>* __restrict to, const std::complex<T>* __restrict roots) noexcept {
    const std::size_t quarter = length / 4;
    for (std::size_t p = 0; p < quarter; ++p) {
        const auto w1 = roots[p * stride], w2 = roots[2 * p * stride], w3 = roots[3 * p * stride];
        const std::complex<T>* const in = from + stride * p;
        std::complex<T>* const out = to + 4 * stride * p;
        for (std::size_t q = 0; q < stride; ++q) {
            const auto a = in[q], b = in[q + stride * quarter], c = in[q + 2 * stride * quarter],
                       d = in[q + 3 * stride * quarter];
            const auto sum = a + c, difference = a - c, other_sum = b + d, turned = times_i(b - d);
            out[q] = sum + other_sum;
            out[q + stride] = product(w1, difference - turned);
            out[q + 2 * stride] = product(w2, sum - other_sum);
            out[q + 3 * stride] = product(w3, difference + turned);
        }
    }
}

/// The last pass where the length is not a power of four.
template <class T>
void pass_of_two(std::size_t stride, const std::complex<T>* __restrict from, std::complex<T>* __restrict to) noexcept {
    for (std::size_t q = 0; q < stride; ++q) {
        to[q] = from[q] + from[q + stride];
        to[q + stride] = from[q] - from[q + stride];
    }
}

}  // namespace

template <class T>
void fourier_roots(std::span<std::complex<T>> roots, std::size_t n) {
    if (roots.size() > n) throw std::invalid_argument("fourier_roots: there are only n different ones");
    for (std::size_t k = 0; k < roots.size(); ++k) {
        const long double angle =
            2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
        roots[k] = {static_cast<T>(std::cos(angle)), static_cast<T>(-std::sin(angle))};
    }
}

template <class T>
void fourier(std::span<std::complex<T>> row, std::span<const std::complex<T>> roots,
             std::span<std::complex<T>> scratch) {
    const std::size_t n = row.size();
    if (!std::has_single_bit(n) || roots.size() != n || scratch.size() != n)
        throw std::invalid_argument(
            "fourier: the row needs a power of two of elements, and as many roots and as much scratch");
    std::complex<T>* from = row.data();
    std::complex<T>* to = scratch.data();
    std::size_t length = n, stride = 1;
    for (; length >= 4; length /= 4, stride *= 4) {
        pass_of_four(length, stride, from, to, roots.data());
        std::swap(from, to);
    }
    if (length == 2) {
        pass_of_two(stride, from, to);
        std::swap(from, to);
    }
    if (from != row.data()) std::copy_n(from, n, row.data());
}

template void fourier_roots<float>(std::span<std::complex<float>>, std::size_t);
template void fourier_roots<double>(std::span<std::complex<double>>, std::size_t);
template void fourier_roots<long double>(std::span<std::complex<long double>>, std::size_t);
template void fourier<float>(std::span<std::complex<float>>, std::span<const std::complex<float>>,
                             std::span<std::complex<float>>);
template void fourier<double>(std::span<std::complex<double>>, std::span<const std::complex<double>>,
                              std::span<std::complex<double>>);

}  // namespace penstock::kernels
