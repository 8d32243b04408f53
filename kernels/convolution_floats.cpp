#include "kernels/convolution_rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convolution_floats.cpp"
#include "kernels/each_target.hpp"

HWY_BEFORE_NAMESPACE();
namespace penstock::kernels::HWY_NAMESPACE {

using rows::Size;

#if PENSTOCK_VECTORS

namespace hn = hwy::HWY_NAMESPACE;

// `count` vectors at a time: enough sums under way to hide how long an addition takes. Rows and Columns are the filter's, or 0
// where the compiler does not know them.
template <std::size_t count, std::size_t Rows, std::size_t Columns, class D>
HWY_INLINE void strip(D d, const float* const* from, std::size_t at, Size size, const float* weights, float* out) {
    using V = hn::Vec<D>;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t rows = Rows != 0 ? Rows : size.rows, columns = Columns != 0 ? Columns : size.columns;
    V total[count];
    for (std::size_t u = 0; u < rows; ++u) {
        for (std::size_t first = 0; first < columns; first += rows::most_summed) {
            const std::size_t end = first + rows::most_summed < columns ? first + rows::most_summed : columns;
            const float* const row = from[u] + at;
            V part[count];
            V weight = hn::Set(d, weights[u * columns + first]);
            for (std::size_t k = 0; k < count; ++k) part[k] = hn::Mul(weight, hn::LoadU(d, row + first + k * lanes));
            for (std::size_t v = first + 1; v < end; ++v) {
                weight = hn::Set(d, weights[u * columns + v]);
                for (std::size_t k = 0; k < count; ++k)
                    part[k] = hn::Add(part[k], hn::Mul(weight, hn::LoadU(d, row + v + k * lanes)));
            }
            for (std::size_t k = 0; k < count; ++k) total[k] = u == 0 && first == 0 ? part[k] : hn::Add(total[k], part[k]);
        }
    }
    for (std::size_t k = 0; k < count; ++k) hn::StoreU(total[k], d, out + at + k * lanes);
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
    filter_sized<0, 0>(from, size, weights, out, columns);
}

}  // namespace penstock::kernels::rows

#endif
