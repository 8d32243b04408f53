#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/h264.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/h264_residuals.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/h264_vectors.hpp"

namespace {

using h264::Coefficient;
using h264::Pitch;
using h264::Pixel;
using h264::Quantiser;
using h264::Strip;

using Sixteen = hn::CappedTag<std::int16_t, 16>;
using Eight = hn::FixedTag<std::int16_t, 8>;

/// A row of pixels as words: 16 whose halves lie apart, 8, or 4 and nothing.
template <class D>
HWY_INLINE hn::Vec<D> pixels(D d, const Pixel* left, const Pixel* right) {
    const hn::Rebind<std::uint8_t, D> bytes;
    if constexpr (hn::MaxLanes(D()) == 16) {
        const hn::Half<decltype(bytes)> half;
        return hn::PromoteTo(d, hn::Combine(bytes, hn::LoadU(half, right), hn::LoadU(half, left)));
    } else {
        return hn::PromoteTo(d, hn::LoadU(bytes, left));
    }
}
HWY_INLINE hn::Vec<Eight> four_pixels(const Pixel* from) {
    const hn::FixedTag<std::uint8_t, 8> bytes;
    const hn::FixedTag<std::uint8_t, 4> four;
    return hn::PromoteTo(Eight(), hn::ZeroExtendVector(bytes, hn::LoadU(four, from)));
}

/// Four numbers for each block.
template <class T, class D>
HWY_INLINE hn::Vec<D> each_block(D d, const T* four) {
    std::uint64_t value;
    std::memcpy(&value, four, 8);
    return hn::BitCast(d, hn::Set(hn::RepartitionToWide<hn::RepartitionToWide<D>>(), value));
}

template <class V>
HWY_INLINE void transform(V& a, V& b, V& c, V& e) {
    const V s = hn::Add(a, e), t = hn::Add(b, c), u = hn::Sub(b, c), v = hn::Sub(a, e);
    a = hn::Add(s, t);
    b = hn::Add(hn::Add(v, v), u);
    c = hn::Sub(s, t);
    e = hn::Sub(v, hn::Add(u, u));
}

template <class V>
HWY_INLINE void transform_back(V& a, V& b, V& c, V& e) {
    const V s = hn::Add(a, c), t = hn::Sub(a, c), u = hn::Sub(hn::ShiftRight<1>(b), e),
            v = hn::Add(b, hn::ShiftRight<1>(e));
    a = hn::Add(s, v);
    b = hn::Add(t, u);
    c = hn::Sub(t, u);
    e = hn::Sub(s, v);
}

/// Bit 4 b + r of each four becomes bit 16 b + r.
constexpr std::uint64_t spread(std::uint64_t bits) noexcept {
    bits = (bits | bits << 24) & 0x000000ff000000ff;
    return (bits | bits << 12) & 0x000f000f000f000f;
}

/// Transforms the rows of blocks and quantises; gives the levels' bits, and leaves the first row of coefficients in
/// x[0].
template <class V>
HWY_INLINE std::uint64_t quantised(V* x, const Quantiser& quantiser, Coefficient* levels) {
    const hn::DFromV<V> d;
    const hn::RebindToUnsigned<decltype(d)> magnitudes;
    transform(x[0], x[1], x[2], x[3]);
    transpose_blocks(x[0], x[1], x[2], x[3]);
    transform(x[0], x[1], x[2], x[3]);
    V level[4];
    auto any = hn::Zero(d);
    for (std::size_t c = 0; c < 4; ++c) {
        const auto sign = hn::ShiftRight<15>(x[c]);
        const auto magnitude = hn::BitCast(magnitudes, hn::Abs(x[c]));
        const auto found = hn::MulHigh(hn::Add(magnitude, each_block(magnitudes, &quantiser.rounding[4 * c])),
                                       each_block(magnitudes, &quantiser.factor[4 * c]));
        level[c] = hn::Sub(hn::Xor(hn::BitCast(d, found), sign), sign);
        any = hn::Or(any, level[c]);
        hn::StoreU(level[c], d, levels + 16 * c);
    }
    if (hn::AllTrue(d, hn::Eq(any, hn::Zero(d)))) return 0;
    std::uint64_t bits = 0;
    for (std::size_t c = 0; c < 4; ++c) {
        std::uint8_t of_lanes[8] = {};
        hn::StoreMaskBits(d, hn::Ne(level[c], hn::Zero(d)), of_lanes);
        bits |= spread(of_lanes[0] | std::uint64_t{of_lanes[1]} << 8) << (4 * c);
    }
    return bits;
}

template <class D>
HWY_INLINE std::uint64_t levels_of(D d, const Pixel* source, const Pixel* source_right, Pitch source_pitch,
                                   const Pixel* prediction, const Pixel* prediction_right, Pitch prediction_pitch,
                                   const Quantiser& quantiser, Coefficient* levels, Coefficient* first) {
    hn::Vec<D> x[4];
    for (Pitch i = 0; i < 4; ++i)
        x[i] = hn::Sub(pixels(d, source + i * source_pitch, source_right + i * source_pitch),
                       pixels(d, prediction + i * prediction_pitch, prediction_right + i * prediction_pitch));
    const std::uint64_t found = quantised(x, quantiser, levels);
    alignas(32) Coefficient coefficients[16];
    hn::StoreU(x[0], d, coefficients);
    for (std::size_t block = 0; block < hn::Lanes(d) / 4; ++block) first[block] = coefficients[4 * block];
    return found;
}

std::uint64_t levels(const Pixel* source, const Pixel* source_right, Pitch source_pitch, const Pixel* prediction,
                     const Pixel* prediction_right, Pitch prediction_pitch, const Quantiser& quantiser, Strip& strip,
                     Coefficient* first) {
    if constexpr (hn::MaxLanes(Sixteen()) == 16) {
        return levels_of(Sixteen(), source, source_right, source_pitch, prediction, prediction_right, prediction_pitch,
                         quantiser, strip.data(), first);
    } else {
        return levels_of(Eight(), source, source, source_pitch, prediction, prediction, prediction_pitch, quantiser,
                         strip.data(), first) |
               levels_of(Eight(), source_right, source_right, source_pitch, prediction_right, prediction_right,
                         prediction_pitch, quantiser, strip.data() + 8, first + 2)
                   << 32;
    }
}

template <class V>
HWY_INLINE void scaled_back(V* x, const Coefficient* levels, const Quantiser& quantiser, const Coefficient* first) {
    const hn::DFromV<V> d;
    for (std::size_t c = 0; c < 4; ++c)
        x[c] = hn::Mul(hn::LoadU(d, levels + 16 * c), each_block(d, &quantiser.scale[4 * c]));
    if (first != nullptr) {
        alignas(32) Coefficient coefficients[16];
        hn::StoreU(x[0], d, coefficients);
        for (std::size_t block = 0; block < hn::Lanes(d) / 4; ++block) coefficients[4 * block] = first[block];
        x[0] = hn::LoadU(d, coefficients);
    }
    transform_back(x[0], x[1], x[2], x[3]);
    transpose_blocks(x[0], x[1], x[2], x[3]);
    transform_back(x[0], x[1], x[2], x[3]);
    for (std::size_t i = 0; i < 4; ++i) x[i] = hn::ShiftRight<6>(hn::Add(x[i], hn::Set(d, std::int16_t{32})));
}

template <class D>
HWY_INLINE void add_to(D d, const Coefficient* levels, const Quantiser& quantiser, const Coefficient* first,
                       const Pixel* prediction, const Pixel* prediction_right, Pitch prediction_pitch, Pixel* to,
                       Pixel* to_right, Pitch to_pitch) {
    const hn::Rebind<std::uint8_t, D> bytes;
    hn::Vec<D> x[4];
    scaled_back(x, levels, quantiser, first);
    for (Pitch i = 0; i < 4; ++i) {
        const auto sum = hn::DemoteTo(bytes, hn::Add(x[i], pixels(d, prediction + i * prediction_pitch,
                                                                  prediction_right + i * prediction_pitch)));
        if constexpr (hn::MaxLanes(D()) == 16) {
            const hn::Half<decltype(bytes)> half;
            hn::StoreU(hn::LowerHalf(half, sum), half, to + i * to_pitch);
            hn::StoreU(hn::UpperHalf(half, sum), half, to_right + i * to_pitch);
        } else {
            hn::StoreU(sum, bytes, to + i * to_pitch);
        }
    }
}

void add(const Strip& strip, const Quantiser& quantiser, const Coefficient* first, const Pixel* prediction,
         const Pixel* prediction_right, Pitch prediction_pitch, Pixel* to, Pixel* to_right, Pitch to_pitch) {
    if constexpr (hn::MaxLanes(Sixteen()) == 16) {
        add_to(Sixteen(), strip.data(), quantiser, first, prediction, prediction_right, prediction_pitch, to, to_right,
               to_pitch);
    } else {
        add_to(Eight(), strip.data(), quantiser, first, prediction, prediction, prediction_pitch, to, to, to_pitch);
        add_to(Eight(), strip.data() + 8, quantiser, first == nullptr ? nullptr : first + 2, prediction_right,
               prediction_right, prediction_pitch, to_right, to_right, to_pitch);
    }
}

// Of a single block the other lanes hold nothing that counts.
std::uint64_t levels_of_one(const Pixel* source, Pitch source_pitch, const Pixel* prediction, Pitch prediction_pitch,
                            const Quantiser& quantiser, Coefficient* levels) {
    hn::Vec<Eight> x[4];
    for (Pitch i = 0; i < 4; ++i)
        x[i] = hn::Sub(four_pixels(source + i * source_pitch), four_pixels(prediction + i * prediction_pitch));
    alignas(32) Coefficient found[64];
    const std::uint64_t bits = quantised(x, quantiser, found) & 0xffff;
    for (std::size_t c = 0; c < 4; ++c) std::memcpy(levels + 16 * c, found + 16 * c, 8);
    return bits;
}

void add_one(const Coefficient* levels, const Quantiser& quantiser, const Pixel* prediction, Pitch prediction_pitch,
             Pixel* to, Pitch to_pitch) {
    alignas(32) Coefficient kept[64] = {};
    for (std::size_t c = 0; c < 4; ++c) std::memcpy(kept + 16 * c, levels + 16 * c, 8);
    hn::Vec<Eight> x[4];
    scaled_back(x, kept, quantiser, nullptr);
    const hn::FixedTag<std::uint8_t, 8> bytes;
    for (Pitch i = 0; i < 4; ++i) {
        alignas(8) Pixel row[8];
        hn::Store(hn::DemoteTo(bytes, hn::Add(x[i], four_pixels(prediction + i * prediction_pitch))), bytes, row);
        std::memcpy(to + i * to_pitch, row, 4);
    }
}

}  // namespace

std::size_t fill_residuals(h264::Residuals* table) {
    *table = {levels, add, levels_of_one, add_one};
    return 1;
}

#else

inline std::size_t fill_residuals(h264::Residuals*) { return 0; }

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace penstock::kernels::h264 {
namespace {

/// As vectors of words keep a sum, where levels are so great that they do not come from pixels.
constexpr Coefficient word(int value) noexcept { return static_cast<Coefficient>(value); }

// One block; `levels` has rows of 16, of which row c is column c of the block.
std::uint64_t levels_of_one(const Pixel* source, Pitch source_pitch, const Pixel* prediction, Pitch prediction_pitch,
                            const Quantiser& quantiser, Coefficient* levels, Coefficient& first) {
    int x[4][4];
    for (int column = 0; column < 4; ++column) {
        const auto difference = [&](int row) {
            return source[row * source_pitch + column] - prediction[row * prediction_pitch + column];
        };
        const int s = difference(0) + difference(3), t = difference(1) + difference(2);
        const int u = difference(1) - difference(2), v = difference(0) - difference(3);
        x[0][column] = s + t, x[1][column] = 2 * v + u, x[2][column] = s - t, x[3][column] = v - 2 * u;
    }
    std::uint64_t found = 0;
    for (int row = 0; row < 4; ++row) {
        const int s = x[row][0] + x[row][3], t = x[row][1] + x[row][2], u = x[row][1] - x[row][2],
                  v = x[row][0] - x[row][3];
        const int transformed[4] = {s + t, 2 * v + u, s - t, v - 2 * u};
        if (row == 0) first = static_cast<Coefficient>(transformed[0]);
        for (int column = 0; column < 4; ++column) {
            const auto place = static_cast<std::size_t>(4 * column + row);
            const auto magnitude = static_cast<std::uint32_t>(std::abs(transformed[column]));
            const auto level =
                static_cast<int>((magnitude + quantiser.rounding[place]) * quantiser.factor[place] >> 16);
            levels[16 * column + row] = static_cast<Coefficient>(transformed[column] < 0 ? -level : level);
            found |= static_cast<std::uint64_t>(level != 0) << place;
        }
    }
    return found;
}

void add_one(const Coefficient* levels, const Quantiser& quantiser, const Coefficient* first, const Pixel* prediction,
             Pitch prediction_pitch, Pixel* to, Pitch to_pitch) {
    Coefficient x[4][4];
    const auto transform_back = [](Coefficient& a, Coefficient& b, Coefficient& c, Coefficient& d) {
        const Coefficient s = word(a + c), t = word(a - c), u = word((b >> 1) - d), v = word(b + (d >> 1));
        a = word(s + v), b = word(t + u), c = word(t - u), d = word(s - v);
    };
    for (int row = 0; row < 4; ++row) {
        auto& c = x[row];
        for (int column = 0; column < 4; ++column)
            c[column] = word(levels[16 * column + row] * quantiser.scale[static_cast<std::size_t>(4 * column + row)]);
        if (row == 0 && first != nullptr) c[0] = *first;
        transform_back(c[0], c[1], c[2], c[3]);
    }
    for (int column = 0; column < 4; ++column) {
        transform_back(x[0][column], x[1][column], x[2][column], x[3][column]);
        for (int row = 0; row < 4; ++row)
            to[row * to_pitch + column] = static_cast<Pixel>(
                std::clamp((word(x[row][column] + 32) >> 6) + prediction[row * prediction_pitch + column], 0, 255));
    }
}

std::uint64_t levels(const Pixel* source, const Pixel* source_right, Pitch source_pitch, const Pixel* prediction,
                     const Pixel* prediction_right, Pitch prediction_pitch, const Quantiser& quantiser, Strip& levels,
                     Coefficient* first) {
    std::uint64_t found = 0;
    for (int block = 0; block < 4; ++block) {
        const int left = 4 * (block % 2);
        found |= levels_of_one((block < 2 ? source : source_right) + left, source_pitch,
                               (block < 2 ? prediction : prediction_right) + left, prediction_pitch, quantiser,
                               levels.data() + 4 * block, first[block])
                 << (16 * block);
    }
    return found;
}

void add(const Strip& levels, const Quantiser& quantiser, const Coefficient* first, const Pixel* prediction,
         const Pixel* prediction_right, Pitch prediction_pitch, Pixel* to, Pixel* to_right, Pitch to_pitch) {
    for (int block = 0; block < 4; ++block) {
        const int left = 4 * (block % 2);
        add_one(levels.data() + 4 * block, quantiser, first == nullptr ? nullptr : first + block,
                (block < 2 ? prediction : prediction_right) + left, prediction_pitch,
                (block < 2 ? to : to_right) + left, to_pitch);
    }
}

}  // namespace

Residuals residuals() noexcept {
    Residuals table;
    if (PENSTOCK_PICK(fill_residuals)(&table) != 0) return table;
    return {levels, add,
            [](const Pixel* source, Pitch source_pitch, const Pixel* prediction, Pitch prediction_pitch,
               const Quantiser& quantiser, Coefficient* to) {
                Coefficient first;
                return levels_of_one(source, source_pitch, prediction, prediction_pitch, quantiser, to, first);
            },
            [](const Coefficient* from, const Quantiser& quantiser, const Pixel* prediction, Pitch prediction_pitch,
               Pixel* to,
               Pitch to_pitch) { add_one(from, quantiser, nullptr, prediction, prediction_pitch, to, to_pitch); }};
}

}  // namespace penstock::kernels::h264

#endif
