// The loops of ofdm.cpp. They are written once, over the compiler's own vectors of 4 or 8 numbers, and compiled for
// each instruction set by being inlined there. Each lane does the same in any case.
#pragma once

#include <cstring>
#include <utility>

#include "kernels/ofdm.hpp"

namespace penstock::kernels::ofdm::loops {

#define PENSTOCK_LOOP [[gnu::always_inline]] inline

using Four [[gnu::vector_size(16)]] = float;
using Eight [[gnu::vector_size(32)]] = float;

template <class Vector>
struct Of;
template <>
struct Of<Four> {
    using Integers [[gnu::vector_size(16)]] = std::int32_t;
    using Bytes [[gnu::vector_size(4)]] = std::int8_t;
};
template <>
struct Of<Eight> {
    using Integers [[gnu::vector_size(32)]] = std::int32_t;
    using Bytes [[gnu::vector_size(8)]] = std::int8_t;
};
template <class Vector>
inline constexpr std::size_t lanes = sizeof(Vector) / sizeof(float);

template <class Vector>
struct Row {
    Vector re, im;
};

template <class Vector>
PENSTOCK_LOOP void load(Row<Vector>& row, const float* re, const float* im) {
    std::memcpy(&row.re, re, sizeof(Vector));
    std::memcpy(&row.im, im, sizeof(Vector));
}
template <class Vector>
PENSTOCK_LOOP void store(const Row<Vector>& row, float* re, float* im) {
    std::memcpy(re, &row.re, sizeof(Vector));
    std::memcpy(im, &row.im, sizeof(Vector));
}
template <class Vector>
PENSTOCK_LOOP void multiply(Row<Vector>& row, const Vector& re, const Vector& im) {
    const Vector real = row.re * re - row.im * im;
    row.im = row.re * im + row.im * re;
    row.re = real;
}
template <class Vector>
PENSTOCK_LOOP void multiply(Row<Vector>& row, Sample by) {
    multiply<Vector>(row, Vector{} + by.real(), Vector{} + by.imag());
}

/// Rows of four: a0 b0 c0 d0, and so on.
PENSTOCK_LOOP void transpose(Four (&v)[4]) {
    const Four ac_low = __builtin_shufflevector(v[0], v[2], 0, 4, 1, 5),
               ac_high = __builtin_shufflevector(v[0], v[2], 2, 6, 3, 7);
    const Four bd_low = __builtin_shufflevector(v[1], v[3], 0, 4, 1, 5),
               bd_high = __builtin_shufflevector(v[1], v[3], 2, 6, 3, 7);
    v[0] = __builtin_shufflevector(ac_low, bd_low, 0, 4, 1, 5);
    v[1] = __builtin_shufflevector(ac_low, bd_low, 2, 6, 3, 7);
    v[2] = __builtin_shufflevector(ac_high, bd_high, 0, 4, 1, 5);
    v[3] = __builtin_shufflevector(ac_high, bd_high, 2, 6, 3, 7);
}

/// n is even.
PENSTOCK_LOOP void lay_side_by_side(const Sample* samples, std::size_t pitch, std::size_t count, const Sample* rotation,
                                    std::size_t n, float* re, float* im) {
    const float* const words = reinterpret_cast<const float*>(samples);
    for (std::size_t first = 0; first < side; first += 4) {
        for (std::size_t i = 0; i < n; i += 2) {
            Four two[4]{};
            for (std::size_t s = 0; s < 4; ++s)
                if (first + s < count) std::memcpy(&two[s], words + 2 * ((first + s) * pitch + i), sizeof(Four));
            transpose(two);
            Row<Four> row{two[0], two[1]}, next{two[2], two[3]};
            multiply(row, rotation[i]);
            multiply(next, rotation[i + 1]);
            store(row, re + i * side + first, im + i * side + first);
            store(next, re + (i + 1) * side + first, im + (i + 1) * side + first);
        }
    }
}

/// As the pass of kernels/fourier.cpp.
template <class Vector>
PENSTOCK_LOOP void pass_of_four(std::size_t length, std::size_t stride, const Block& from, const Block& to,
                                const Sample* roots) {
    const std::size_t quarter = length / 4, apart = stride * quarter * side, next = stride * side;
    for (std::size_t p = 0; p < quarter; ++p) {
        const Sample w1 = roots[p * stride], w2 = roots[2 * p * stride], w3 = roots[3 * p * stride];
        for (std::size_t q = 0; q < stride * side; q += lanes<Vector>) {
            const std::size_t in = stride * p * side + q, out = 4 * stride * p * side + q;
            Row<Vector> a, b, c, d;
            load(a, from.re + in, from.im + in);
            load(b, from.re + in + apart, from.im + in + apart);
            load(c, from.re + in + 2 * apart, from.im + in + 2 * apart);
            load(d, from.re + in + 3 * apart, from.im + in + 3 * apart);
            const Row<Vector> sum{a.re + c.re, a.im + c.im}, difference{a.re - c.re, a.im - c.im};
            const Row<Vector> others{b.re + d.re, b.im + d.im}, turned{d.im - b.im, b.re - d.re};  // i (b - d)
            const Row<Vector> first{sum.re + others.re, sum.im + others.im};
            Row<Vector> second{difference.re - turned.re, difference.im - turned.im};
            Row<Vector> third{sum.re - others.re, sum.im - others.im};
            Row<Vector> fourth{difference.re + turned.re, difference.im + turned.im};
            if (p != 0) {
                multiply(second, w1);
                multiply(third, w2);
                multiply(fourth, w3);
            }
            store(first, to.re + out, to.im + out);
            store(second, to.re + out + next, to.im + out + next);
            store(third, to.re + out + 2 * next, to.im + out + 2 * next);
            store(fourth, to.re + out + 3 * next, to.im + out + 3 * next);
        }
    }
}

/// `data` is where the result is, at the end.
template <class Vector>
PENSTOCK_LOOP void fourier(std::size_t n, const Sample* roots, Block& data, Block& scratch) {
    for (std::size_t length = n, stride = 1; length >= 4; length /= 4, stride *= 4) {
        pass_of_four<Vector>(length, stride, data, scratch, roots);
        std::swap(data, scratch);
    }
}

template <class Vector>
PENSTOCK_LOOP void equalise(const ConstBlock& from, const Carrier* carriers, std::size_t count, const Sample* turn,
                            const Sample* step, const Block& to) {
    for (std::size_t first = 0; first < side; first += lanes<Vector>) {
        Row<Vector> rotation, further;
        for (std::size_t s = 0; s < lanes<Vector>; ++s) {
            rotation.re[s] = turn[first + s].real();
            rotation.im[s] = turn[first + s].imag();
            further.re[s] = step[first + s].real();
            further.im[s] = step[first + s].imag();
        }
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t at = carriers[i].from * side + first, into = carriers[i].to * side + first;
            Row<Vector> row;
            load(row, from.re + at, from.im + at);
            multiply(row, Sample{carriers[i].re, carriers[i].im});
            multiply(row, rotation.re, rotation.im);
            store(row, to.re + into, to.im + into);
            multiply(rotation, further.re, further.im);
        }
    }
}

template <class Vector>
PENSTOCK_LOOP void store_soft(const Vector& value, std::int8_t* to) {
    Vector limited = value > 127.0f ? Vector{} + 127.0f : value;
    limited = limited < -127.0f ? Vector{} - 127.0f : limited;
    const Vector rounded = limited + 12582912.0f;  // 1.5 * 2^23: what is left are the integers
    typename Of<Vector>::Integers bits;
    std::memcpy(&bits, &rounded, sizeof(bits));
    const auto bytes = __builtin_convertvector(bits - 0x4B400000, typename Of<Vector>::Bytes);
    std::memcpy(to, &bytes, sizeof(bytes));
}
template <class Vector>
PENSTOCK_LOOP void magnitude(Vector& value) {
    const Vector negative = -value;
    value = value < 0.0f ? negative : value;
}

/// Bits of one axis: the sign, then how far inside the outer half it is, then the same of that.
template <std::size_t bits_of_an_axis, class Vector>
PENSTOCK_LOOP void soft_axis(const Vector& position, float unit, std::int8_t* to) {
    Vector value = position;
    store_soft(value, to);
    if constexpr (bits_of_an_axis >= 2) {
        magnitude(value);
        value = (Vector{} + (bits_of_an_axis == 2 ? 2.0f : 4.0f) * unit) - value;
        store_soft(value, to + side);
    }
    if constexpr (bits_of_an_axis >= 3) {
        magnitude(value);
        value = (Vector{} + 2.0f * unit) - value;
        store_soft(value, to + 2 * side);
    }
}

template <std::size_t bits, class Vector>
PENSTOCK_LOOP void soft_bits_of(const ConstBlock& from, const float* unit, std::size_t count, float scale,
                                std::int8_t* to) {
    constexpr std::size_t of_an_axis = bits == 1 ? 1 : bits / 2;
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t first = 0; first < side; first += lanes<Vector>) {
            Row<Vector> row;
            load(row, from.re + i * side + first, from.im + i * side + first);
            const float scaled = unit[i] * scale;
            std::int8_t* const at = to + i * bits * side + first;
            soft_axis<of_an_axis, Vector>(row.re * scale, scaled, at);
            if constexpr (bits != 1) soft_axis<of_an_axis, Vector>(row.im * scale, scaled, at + of_an_axis * side);
        }
    }
}
template <class Vector>
PENSTOCK_LOOP void soft_bits(const ConstBlock& from, const float* unit, std::size_t count, std::size_t bits,
                             float scale, std::int8_t* to) {
    if (bits == 1) soft_bits_of<1, Vector>(from, unit, count, scale, to);
    else if (bits == 2) soft_bits_of<2, Vector>(from, unit, count, scale, to);
    else if (bits == 4) soft_bits_of<4, Vector>(from, unit, count, scale, to);
    else soft_bits_of<6, Vector>(from, unit, count, scale, to);
}

template <class Vector>
PENSTOCK_LOOP void correlate(const ConstBlock& x, const Sample* pattern, std::size_t length, Sample* to,
                             std::size_t count) {
    for (std::size_t p = 0; p < count; p += lanes<Vector>) {
        Row<Vector> sum{};
        for (std::size_t n = 0; n < length; ++n) {
            Row<Vector> row;
            load(row, x.re + p + n, x.im + p + n);
            multiply(row, std::conj(pattern[n]));
            sum.re += row.re;
            sum.im += row.im;
        }
        for (std::size_t s = 0; s < lanes<Vector>; ++s) to[p + s] = {sum.re[s], sum.im[s]};
    }
}

/// Four samples, parts apart.
PENSTOCK_LOOP void load_apart(Row<Four>& row, const float* words) {
    Four low, high;
    std::memcpy(&low, words, sizeof(low));
    std::memcpy(&high, words + 4, sizeof(high));
    row.re = __builtin_shufflevector(low, high, 0, 2, 4, 6);
    row.im = __builtin_shufflevector(low, high, 1, 3, 5, 7);
}

PENSTOCK_LOOP void correlate_with_later(const Sample* x, std::size_t lag, std::size_t count, Correlation* to) {
    Row<Four> sum[2]{};
    Four power[2]{};
    for (std::size_t i = 0; i < count; i += side) {
        for (std::size_t half = 0; half < 2; ++half) {
            Row<Four> early, late;
            load_apart(early, reinterpret_cast<const float*>(x + i + 4 * half));
            load_apart(late, reinterpret_cast<const float*>(x + i + 4 * half + lag));
            power[half] += late.re * late.re + late.im * late.im;
            multiply<Four>(late, early.re, -early.im);
            sum[half].re += late.re;
            sum[half].im += late.im;
        }
    }
    const Four re = sum[0].re + sum[1].re, im = sum[0].im + sum[1].im, all = power[0] + power[1];
    *to = {{(re[0] + re[2]) + (re[1] + re[3]), (im[0] + im[2]) + (im[1] + im[3])},
           (all[0] + all[2]) + (all[1] + all[3])};
}

#undef PENSTOCK_LOOP

}  // namespace penstock::kernels::ofdm::loops
