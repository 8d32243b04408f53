#include "kernels/idct.hpp"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/idct.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/idct_line.hpp"

using Four = hn::FixedTag<float, 4>;
using Lanes = hn::CappedTag<float, 8>;

// Stores the transposed 4 x 4 at `to`, rows 8 apart.
HWY_INLINE void put_transposed(hn::Vec<Four> a, hn::Vec<Four> b, hn::Vec<Four> c, hn::Vec<Four> e, float* to) {
    const Four d;
    const auto ac_low = hn::InterleaveLower(d, a, c), ac_up = hn::InterleaveUpper(d, a, c);
    const auto be_low = hn::InterleaveLower(d, b, e), be_up = hn::InterleaveUpper(d, b, e);
    hn::StoreU(hn::InterleaveLower(d, ac_low, be_low), d, to);
    hn::StoreU(hn::InterleaveUpper(d, ac_low, be_low), d, to + 8);
    hn::StoreU(hn::InterleaveLower(d, ac_up, be_up), d, to + 16);
    hn::StoreU(hn::InterleaveUpper(d, ac_up, be_up), d, to + 24);
}

// The transform of each column of a block, stored as a row.
template <class D = Lanes>
HWY_INLINE void columns_to_rows(const float* from, float* to) {
    const D d;
    for (std::size_t column = 0; column < 8; column += hn::Lanes(d)) {
        hn::Vec<D> x[8];
        for (std::size_t k = 0; k < 8; ++k) x[k] = hn::LoadU(d, from + 8 * k + column);
        idct_line(x, [](float c) HWY_ATTR { return hn::Set(D(), c); });
        for (std::size_t k = 0; k < 8; k += 4) {
            if constexpr (hn::MaxLanes(d) == 8) {
                const Four four;
                put_transposed(hn::LowerHalf(four, x[k]), hn::LowerHalf(four, x[k + 1]), hn::LowerHalf(four, x[k + 2]),
                               hn::LowerHalf(four, x[k + 3]), to + k);
                put_transposed(hn::UpperHalf(four, x[k]), hn::UpperHalf(four, x[k + 1]), hn::UpperHalf(four, x[k + 2]),
                               hn::UpperHalf(four, x[k + 3]), to + 32 + k);
            } else {
                put_transposed(x[k], x[k + 1], x[k + 2], x[k + 3], to + 8 * column + k);
            }
        }
    }
}

std::size_t float_blocks(const float* from, float* to, std::size_t blocks) {
    float turned[64];
    for (std::size_t i = 0; i < blocks; ++i, from += 64, to += 64) {
        columns_to_rows(from, turned);
        columns_to_rows(turned, to);
    }
    return blocks;
}

std::size_t pixel_blocks(const std::int16_t* from, std::uint8_t* to, std::ptrdiff_t pitch, std::size_t blocks) {
    const hn::FixedTag<std::int32_t, 4> integers;
    const hn::FixedTag<std::int16_t, 4> words;
    const hn::FixedTag<std::int16_t, 8> row;
    const hn::FixedTag<std::uint8_t, 8> bytes;
    const Four d;
    float values[64], turned[64];
    const auto shift = hn::Set(d, 128.0f);
    const auto rounded = [&](const float* four) HWY_ATTR {
        return hn::DemoteTo(words, hn::NearestInt(hn::Add(hn::LoadU(d, four), shift)));
    };
    for (std::size_t i = 0; i < blocks; ++i, from += 64, to += 8) {
        for (std::size_t k = 0; k < 64; k += 4)
            hn::StoreU(hn::ConvertTo(d, hn::PromoteTo(integers, hn::LoadU(words, from + k))), d, values + k);
        columns_to_rows(values, turned);
        columns_to_rows(turned, values);
        for (std::ptrdiff_t k = 0; k < 8; ++k)
            hn::StoreU(hn::DemoteTo(bytes, hn::Combine(row, rounded(values + 8 * k + 4), rounded(values + 8 * k))),
                       bytes, to + k * pitch);
    }
    return blocks;
}

#else

inline std::size_t float_blocks(const float*, float*, std::size_t) { return 0; }
inline std::size_t pixel_blocks(const std::int16_t*, std::uint8_t*, std::ptrdiff_t, std::size_t) { return 0; }

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cmath>

#include "kernels/shapes.hpp"

namespace penstock::kernels {
namespace plain {

#include "kernels/idct_line.hpp"

void columns_to_rows(const float* from, float* to) {
    for (std::size_t column = 0; column < 8; ++column) {
        float x[8];
        for (std::size_t k = 0; k < 8; ++k) x[k] = from[8 * k + column];
        idct_line(x, [](float c) { return c; });
        std::copy_n(x, 8, to + 8 * column);
    }
}

}  // namespace plain

void idct_8x8(std::span<const float> coefficients, std::span<float> values) {
    if (coefficients.size() != values.size() || values.size() % 64 != 0) [[unlikely]]
        throw std::invalid_argument("idct_8x8: " + std::to_string(coefficients.size()) + " coefficients and " +
                                    std::to_string(values.size()) +
                                    " values; they must be as many, and a multiple of 64");
    const std::size_t blocks = values.size() / 64;
    for (std::size_t i = PENSTOCK_PICK(float_blocks)(coefficients.data(), values.data(), blocks); i < blocks; ++i) {
        float turned[64];
        plain::columns_to_rows(&coefficients[64 * i], turned);
        plain::columns_to_rows(turned, &values[64 * i]);
    }
}

void idct_8x8_pixels(std::span<const std::int16_t> coefficients, view<std::uint8_t, 2> pixels) {
    need_rows("idct_8x8_pixels", "pixels", pixels);
    if (pixels.extent(0) % 8 != 0 || pixels.extent(1) % 8 != 0 || coefficients.size() != pixels.size()) [[unlikely]]
        throw std::invalid_argument("idct_8x8_pixels: " + std::to_string(coefficients.size()) +
                                    " coefficients for `pixels` of " + shape_text(pixels) +
                                    "; rows and columns must be multiples of 8, and there is a coefficient for each");
    const auto vectors = PENSTOCK_PICK(pixel_blocks);
    const std::size_t across = pixels.extent(1) / 8;
    const std::int16_t* from = coefficients.data();
    for (std::size_t row = 0; row < pixels.extent(0); row += 8, from += 64 * across) {
        std::uint8_t* const to = pixels.row(row).data();
        for (std::size_t i = vectors(from, to, pixels.stride(0), across); i < across; ++i) {
            float values[64], turned[64];
            std::copy_n(from + 64 * i, 64, values);
            plain::columns_to_rows(values, turned);
            plain::columns_to_rows(turned, values);
            for (std::ptrdiff_t k = 0; k < 64; ++k)
                to[k / 8 * pixels.stride(0) + static_cast<std::ptrdiff_t>(8 * i) + k % 8] =
                    static_cast<std::uint8_t>(std::clamp(std::nearbyint(values[k] + 128.0f), 0.0f, 255.0f));
        }
    }
}

}  // namespace penstock::kernels

#endif
