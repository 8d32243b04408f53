#include "kernels/convolution_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convolution_floats.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

using rows::Size;

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

// The sums of one vector of pixels, or of four at a time: enough of them under way to hide how long an addition takes,
// and each weight is loaded once for all. Each sum is a variable of its own, which the compiler keeps in a register; of
// an array it does not.
template <std::size_t count, class D>
struct Sums {
    using V = hn::Vec<D>;
    V a, b, c, e;

    static HWY_INLINE Sums products(D d, V weight, const float* from) {
        const std::size_t lanes = hn::Lanes(d);
        Sums made;
        made.a = hn::Mul(weight, hn::LoadU(d, from));
        if constexpr (count == 4) {
            made.b = hn::Mul(weight, hn::LoadU(d, from + lanes));
            made.c = hn::Mul(weight, hn::LoadU(d, from + 2 * lanes));
            made.e = hn::Mul(weight, hn::LoadU(d, from + 3 * lanes));
        }
        return made;
    }
    HWY_INLINE void add(const Sums& other) {
        a = hn::Add(a, other.a);
        if constexpr (count == 4) {
            b = hn::Add(b, other.b);
            c = hn::Add(c, other.c);
            e = hn::Add(e, other.e);
        }
    }
    HWY_INLINE void store(D d, float* to) const {
        const std::size_t lanes = hn::Lanes(d);
        hn::StoreU(a, d, to);
        if constexpr (count == 4) {
            hn::StoreU(b, d, to + lanes);
            hn::StoreU(c, d, to + 2 * lanes);
            hn::StoreU(e, d, to + 3 * lanes);
        }
    }
};

// The part of one row of the filter, from column `first` on, at most most_summed of them.
template <std::size_t count, class D>
HWY_INLINE Sums<count, D> part_of(D d, const float* from, const float* weights, std::size_t columns) {
    auto part = Sums<count, D>::products(d, hn::Set(d, weights[0]), from);
    for (std::size_t v = 1; v < columns; ++v) part.add(Sums<count, D>::products(d, hn::Set(d, weights[v]), from + v));
    return part;
}

// Rows and Columns are the filter's, or 0 where the compiler does not know them.
template <std::size_t count, std::size_t Rows, std::size_t Columns, class D>
HWY_INLINE void strip(D d, const float* const* from, std::size_t at, Size size, const float* weights, float* out) {
    const std::size_t rows = Rows != 0 ? Rows : size.rows, columns = Columns != 0 ? Columns : size.columns;
    const std::size_t begin = columns < rows::most_summed ? columns : rows::most_summed;
    auto total = part_of<count>(d, from[0] + at, weights, begin);
    for (std::size_t u = 0; u < rows; ++u) {
        const float* const row = from[u] + at;
        const float* const row_weights = weights + u * columns;
        if (u > 0) total.add(part_of<count>(d, row, row_weights, begin));
        for (std::size_t first = begin; first < columns; first += rows::most_summed) {
            const std::size_t rest = columns - first;
            total.add(part_of<count>(d, row + first, row_weights + first,
                                     rest < rows::most_summed ? rest : rows::most_summed));
        }
    }
    total.store(d, out + at);
}

// What is left at the end is one more vector that overlaps the last: the same values, stored twice.
template <std::size_t Rows, std::size_t Columns>
std::size_t filter_row(const float* const* from, Size size, const float* weights, float* out, std::size_t columns) {
    const hn::ScalableTag<float> d;
    const std::size_t lanes = hn::Lanes(d);
    if (columns < lanes) return 0;
    std::size_t j = 0;
    for (; j + 4 * lanes <= columns; j += 4 * lanes) strip<4, Rows, Columns>(d, from, j, size, weights, out);
    for (; j + lanes <= columns; j += lanes) strip<1, Rows, Columns>(d, from, j, size, weights, out);
    if (j < columns) strip<1, Rows, Columns>(d, from, columns - lanes, size, weights, out);
    return columns;
}

#else

template <std::size_t, std::size_t>
std::size_t filter_row(const float* const*, Size, const float*, float*, std::size_t) {
    return 0;
}

#endif

}  // namespace penstock::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace penstock::kernels::rows {
namespace {

template <std::size_t Rows, std::size_t Columns>
void filter_sized(const float* const* from, Size size, const float* weights, float* out, std::size_t columns) {
    const Size known{Rows != 0 ? Rows : size.rows, Columns != 0 ? Columns : size.columns};
    for (std::size_t j = PENSTOCK_PICK(filter_row<Rows, Columns>)(from, size, weights, out, columns); j < columns; ++j)
        out[j] = sum(known, weights, [&](std::size_t u, std::size_t v) { return from[u][j + v]; });
}

}  // namespace

void filter(const float* const* from, Size size, const float* weights, float* out, std::size_t columns) {
    if (size.rows == 3 && size.columns == 3) return filter_sized<3, 3>(from, size, weights, out, columns);
    if (size.rows == 5 && size.columns == 5) return filter_sized<5, 5>(from, size, weights, out, columns);
    if (size.rows == 5 && size.columns == 1) return filter_sized<5, 1>(from, size, weights, out, columns);
    if (size.rows == 1 && size.columns == 5) return filter_sized<1, 5>(from, size, weights, out, columns);
    if (size.rows == 7 && size.columns == 7) return filter_sized<7, 7>(from, size, weights, out, columns);
    if (size.columns == 1) return filter_sized<0, 1>(from, size, weights, out, columns);
    filter_sized<0, 0>(from, size, weights, out, columns);
}

}  // namespace penstock::kernels::rows

#endif
