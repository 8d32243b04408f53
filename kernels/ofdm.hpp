// What a receiver of orthogonal frequency division multiplexing (OFDM) does with each symbol, for eight symbols at
// once, side by side in the lanes of vectors: the Fourier transform, the equaliser, and soft bits. Nothing is ever
// shuffled, and a symbol gives the same bits whichever others are beside it.
//
// A block holds eight symbols: element k of symbol s lies at [k * side + s]. Real and imaginary parts lie apart.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::kernels::ofdm {

using Sample = std::complex<float>;

inline constexpr std::size_t side = 8;

/// Of `rows` rows of eight.
struct Block {
    float* re;
    float* im;
};
struct ConstBlock {
    ConstBlock(const float* real, const float* imaginary) : re{real}, im{imaginary} {}
    ConstBlock(Block block) : re{block.re}, im{block.im} {}
    const float* re;
    const float* im;
};

/// Lays `count` <= 8 stretches of samples side by side, each turned by `rotation` (as many as a stretch is long); each
/// begins `pitch` samples behind the one before. What is beyond `count` becomes zero.
void lay_side_by_side(const Sample* samples, std::size_t pitch, std::size_t count, std::span<const Sample> rotation,
                      Block to);

/// The forward transform of all eight, not scaled, of n = 4^m elements; `roots` are all n of them (fourier_roots).
/// Gives where the result is: `data` or `scratch`. Throws std::invalid_argument.
Block fourier(std::size_t n, std::span<const Sample> roots, Block data, Block scratch);

/// One carrier: from which row of the transform to which row of the result, and by what it is multiplied.
struct Carrier {
    std::uint16_t from, to;
    float re, im;
};
/// For the i-th carrier c: to[c.to] := from[c.from] * c * turn_s * step_s^i for each symbol s.
void equalise(ConstBlock from, std::span<const Carrier> carriers, const std::array<Sample, side>& turn,
              const std::array<Sample, side>& step, Block to);

/// Soft bits, rounded and limited to -127 ... 127, of carriers that carry 1, 2, 4 or 6 bits each in the Gray code of
/// IEEE 802.11: bit b of carrier i at [(i * bits + b) * side + s]. `unit[i]` is half the distance of neighbours in the
/// constellation, after what the equaliser did; all is multiplied by `scale`. Throws std::invalid_argument.
void soft_bits(ConstBlock carriers, std::span<const float> unit, std::size_t bits, float scale, std::int8_t* to);

/// A sum over products of samples with later ones, and of the squares of the later ones.
struct Correlation {
    Sample product{};
    float power = 0;
};
/// Over i < count, a multiple of 8: conj(x[i]) x[i + lag], |x[i + lag]|^2.
Correlation correlate_with_later(const Sample* x, std::size_t lag, std::size_t count);

/// to[p] := sum over n of x[p + n] conj(pattern[n]), for p < to.size(), a multiple of 8; x, with parts apart, has
/// to.size() + pattern.size() elements.
void correlate(ConstBlock x, std::span<const Sample> pattern, std::span<Sample> to);

}  // namespace penstock::kernels::ofdm
