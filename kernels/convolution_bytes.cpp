#include "kernels/convolution_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convolution_bytes.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

using rows::Size;

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

// Sums of 16 bits, which wrap round on the way and hold the end.
template <std::size_t Rows, std::size_t Columns, class D>
HWY_INLINE hn::Vec<D> narrow_sum(D d, const std::uint8_t* const* from, std::size_t at, Size size,
                                 const std::int16_t* weights) {
    const hn::Rebind<std::uint8_t, D> bytes;
    const std::size_t rows = Rows != 0 ? Rows : size.rows, columns = Columns != 0 ? Columns : size.columns;
    auto total = hn::Zero(d);
    for (std::size_t u = 0; u < rows; ++u)
        for (std::size_t v = 0; v < columns; ++v)
            total = hn::Add(total, hn::Mul(hn::Set(d, weights[u * columns + v]),
                                           hn::PromoteTo(d, hn::LoadU(bytes, from[u] + at + v))));
    return total;
}

template <std::size_t Rows, std::size_t Columns>
std::size_t narrow_row(const std::uint8_t* const* from, Size size, const std::int16_t* weights, int shift,
                       std::uint8_t* out, std::size_t columns) {
    const hn::ScalableTag<std::int16_t> d;
    const hn::Rebind<std::uint8_t, decltype(d)> bytes;
    const std::size_t lanes = hn::Lanes(d);
    if (columns < lanes) return 0;
    const auto half = hn::Set(d, static_cast<std::int16_t>(shift > 0 ? 1 << (shift - 1) : 0));
    for (std::size_t j = 0; j < columns; j += lanes) {
        if (j + lanes > columns) j = columns - lanes;  // one more, which overlaps the last
        const auto total = hn::Add(narrow_sum<Rows, Columns>(d, from, j, size, weights), half);
        hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRightSame(total, shift)), bytes, out + j);
    }
    return columns;
}

template <std::size_t Rows>
std::size_t vertical_row(const std::uint8_t* const* from, Size size, const std::int16_t* weights, std::int16_t* out,
                         std::size_t columns) {
    const hn::ScalableTag<std::int16_t> d;
    const std::size_t lanes = hn::Lanes(d);
    if (columns < lanes) return 0;
    for (std::size_t j = 0; j < columns; j += lanes) {
        if (j + lanes > columns) j = columns - lanes;
        hn::StoreU(narrow_sum<Rows, 1>(d, from, j, size, weights), d, out + j);
    }
    return columns;
}

// Sums of 32 bits, of sources of 8 or 16 bits, which are taken as 16: two taps at a time, side by side in each 32 bits.
#if HWY_ARCH_X86
// x86 multiplies and adds such pairs in one instruction, for which Highway 1.0 has no name that means the same
// elsewhere.
HWY_INLINE hn::Vec<hn::ScalableTag<std::int32_t>> sum_of_pairs(hn::Vec<hn::ScalableTag<std::int16_t>> a,
                                                               hn::Vec<hn::ScalableTag<std::int16_t>> b) {
#if HWY_TARGET == HWY_AVX2
    return hn::Vec<hn::ScalableTag<std::int32_t>>{_mm256_madd_epi16(a.raw, b.raw)};
#else
    return hn::Vec<hn::ScalableTag<std::int32_t>>{_mm_madd_epi16(a.raw, b.raw)};
#endif
}
#else
HWY_INLINE hn::Vec<hn::ScalableTag<std::int32_t>> sum_of_pairs(hn::Vec<hn::ScalableTag<std::int16_t>> a,
                                                               hn::Vec<hn::ScalableTag<std::int16_t>> b) {
    const hn::ScalableTag<std::int32_t> d;
    const auto first = [&](auto pair) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(hn::BitCast(d, pair))); };
    const auto second = [&](auto pair) HWY_ATTR { return hn::ShiftRight<16>(hn::BitCast(d, pair)); };
    return hn::Add(hn::Mul(first(a), first(b)), hn::Mul(second(a), second(b)));
}
#endif

HWY_INLINE hn::Vec<hn::ScalableTag<std::int16_t>> words_at(const std::uint8_t* from) {
    const hn::ScalableTag<std::int16_t> d;
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, decltype(d)>(), from));
}
HWY_INLINE hn::Vec<hn::ScalableTag<std::int16_t>> words_at(const std::int16_t* from) {
    return hn::LoadU(hn::ScalableTag<std::int16_t>(), from);
}

// Two weights for the two halves of each 32 bits.
HWY_INLINE hn::Vec<hn::ScalableTag<std::int16_t>> pair_of(std::int16_t first, std::int16_t second) {
    const auto low = static_cast<std::uint16_t>(first), high = static_cast<std::uint16_t>(second);
    const auto both = std::uint32_t{low} | std::uint32_t{high} << 16;
    return hn::BitCast(hn::ScalableTag<std::int16_t>(), hn::Set(hn::ScalableTag<std::uint32_t>(), both));
}

// Pixels at even places and those at odd ones are summed apart: the pairs of one begin where vectors are read at j,
// those of the other where they are read at j + 1, so nothing is moved about within vectors before the sums are
// complete.
template <class Source, std::size_t Rows, std::size_t Columns>
std::size_t wide_row(const Source* const* from, Size size, const std::int16_t* weights, int shift, std::uint8_t* out,
                     std::size_t count) {
    const hn::ScalableTag<std::int32_t> d;
    const hn::ScalableTag<std::int16_t> words;
    const hn::Rebind<std::uint8_t, decltype(words)> bytes;
    const std::size_t lanes = hn::Lanes(words);
    const std::size_t rows = Rows != 0 ? Rows : size.rows, columns = Columns != 0 ? Columns : size.columns;
    if (count < lanes) return 0;
    const auto half = hn::Set(d, shift > 0 ? std::int32_t{1} << (shift - 1) : 0);
    for (std::size_t j = 0; j < count; j += lanes) {
        if (j + lanes > count) j = count - lanes;
        auto even = half, odd = half;
        for (std::size_t u = 0; u < rows; ++u) {
            const Source* const row = from[u] + j;
            const std::int16_t* const weight = weights + u * columns;
            std::size_t v = 0;
            for (; v + 2 <= columns; v += 2) {
                const auto pair = pair_of(weight[v], weight[v + 1]);
                even = hn::Add(even, sum_of_pairs(words_at(row + v), pair));
                odd = hn::Add(odd, sum_of_pairs(words_at(row + v + 1), pair));
            }
            if (v < columns) {
                const auto last = words_at(row + v);
                even = hn::Add(even, sum_of_pairs(last, pair_of(weight[v], 0)));
                odd = hn::Add(odd, sum_of_pairs(last, pair_of(0, weight[v])));
            }
        }
        even = hn::ShiftRightSame(even, shift);
        odd = hn::ShiftRightSame(odd, shift);
        // Packing undoes, block by block, what interleaving does. By way of 16 bits, each step of which limits: the
        // direct way takes numbers over 32,767 for negative ones on x86.
        const auto sums =
            hn::ReorderDemote2To(words, hn::InterleaveLower(d, even, odd), hn::InterleaveUpper(d, even, odd));
        hn::StoreU(hn::DemoteTo(bytes, sums), bytes, out + j);
    }
    return count;
}

#else

template <std::size_t, std::size_t>
std::size_t narrow_row(const std::uint8_t* const*, Size, const std::int16_t*, int, std::uint8_t*, std::size_t) {
    return 0;
}
template <std::size_t>
std::size_t vertical_row(const std::uint8_t* const*, Size, const std::int16_t*, std::int16_t*, std::size_t) {
    return 0;
}
template <class Source, std::size_t, std::size_t>
std::size_t wide_row(const Source* const*, Size, const std::int16_t*, int, std::uint8_t*, std::size_t) {
    return 0;
}

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace penstock::kernels::rows {
namespace {

std::size_t narrow(const std::uint8_t* const* from, Size size, const std::int16_t* weights, int shift,
                   std::uint8_t* out, std::size_t columns) {
    if (size.rows == 3 && size.columns == 3)
        return PENSTOCK_PICK(narrow_row<3, 3>)(from, size, weights, shift, out, columns);
    if (size.rows == 5 && size.columns == 1)
        return PENSTOCK_PICK(narrow_row<5, 1>)(from, size, weights, shift, out, columns);
    if (size.rows == 1 && size.columns == 5)
        return PENSTOCK_PICK(narrow_row<1, 5>)(from, size, weights, shift, out, columns);
    return PENSTOCK_PICK(narrow_row<0, 0>)(from, size, weights, shift, out, columns);
}

std::size_t wide(const std::uint8_t* const* from, Size size, const std::int16_t* weights, int shift, std::uint8_t* out,
                 std::size_t columns) {
    if (size.rows == 5 && size.columns == 5)
        return PENSTOCK_PICK(wide_row<std::uint8_t, 5, 5>)(from, size, weights, shift, out, columns);
    if (size.columns == 7) return PENSTOCK_PICK(wide_row<std::uint8_t, 0, 7>)(from, size, weights, shift, out, columns);
    return PENSTOCK_PICK(wide_row<std::uint8_t, 0, 0>)(from, size, weights, shift, out, columns);
}

std::size_t vertical(const std::uint8_t* const* from, Size size, const std::int16_t* weights, std::int16_t* out,
                     std::size_t columns) {
    if (size.rows == 3) return PENSTOCK_PICK(vertical_row<3>)(from, size, weights, out, columns);
    if (size.rows == 5) return PENSTOCK_PICK(vertical_row<5>)(from, size, weights, out, columns);
    if (size.rows == 7) return PENSTOCK_PICK(vertical_row<7>)(from, size, weights, out, columns);
    return PENSTOCK_PICK(vertical_row<0>)(from, size, weights, out, columns);
}

std::size_t horizontal(const std::int16_t* from, Size size, const std::int16_t* weights, int shift, std::uint8_t* out,
                       std::size_t columns) {
    if (size.columns == 3)
        return PENSTOCK_PICK(wide_row<std::int16_t, 1, 3>)(&from, size, weights, shift, out, columns);
    if (size.columns == 5)
        return PENSTOCK_PICK(wide_row<std::int16_t, 1, 5>)(&from, size, weights, shift, out, columns);
    if (size.columns == 7)
        return PENSTOCK_PICK(wide_row<std::int16_t, 1, 7>)(&from, size, weights, shift, out, columns);
    return PENSTOCK_PICK(wide_row<std::int16_t, 1, 0>)(&from, size, weights, shift, out, columns);
}

}  // namespace

void filter(const std::uint8_t* const* from, Size size, const std::int16_t* weights, int shift, bool is_narrow,
            std::uint8_t* out, std::size_t columns) {
    std::size_t j =
        is_narrow ? narrow(from, size, weights, shift, out, columns) : wide(from, size, weights, shift, out, columns);
    for (; j < columns; ++j)
        out[j] = to_byte(sum(size, weights, [&](std::size_t u, std::size_t v) { return std::int32_t{from[u][j + v]}; }),
                         shift);
}

void filter_vertically(const std::uint8_t* const* from, std::size_t taps, const std::int16_t* weights,
                       std::int16_t* out, std::size_t columns) {
    const Size size{taps, 1};
    for (std::size_t j = vertical(from, size, weights, out, columns); j < columns; ++j)
        out[j] = static_cast<std::int16_t>(
            sum(size, weights, [&](std::size_t u, std::size_t) { return std::int32_t{from[u][j]}; }));
}

void filter_horizontally(const std::int16_t* from, std::size_t taps, const std::int16_t* weights, int shift,
                         std::uint8_t* out, std::size_t columns) {
    const Size size{1, taps};
    for (std::size_t j = horizontal(from, size, weights, shift, out, columns); j < columns; ++j)
        out[j] =
            to_byte(sum(size, weights, [&](std::size_t, std::size_t v) { return std::int32_t{from[j + v]}; }), shift);
}

}  // namespace penstock::kernels::rows

#endif
