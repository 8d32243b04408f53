#include "kernels/correlate.hpp"

#include <cstddef>

namespace penstock::kernels {
namespace {

// 32 columns at a time: long enough for the compiler to keep the loop over columns as a vector loop (5 x 5: 1.8 ns a
// pixel; strips of 8 or 16 are unrolled into scalars first and take 6 to 7 ns).
constexpr std::size_t strip = 32;
constexpr std::size_t most_taps = 5;

// total(l) += sum over v of weights(v) * from(l + v), v from 0 to Taps.
template <std::size_t Columns, std::size_t Taps>
inline void add_taps(const float* __restrict from, const float* __restrict weights, float* __restrict total) {
    for (std::size_t l = 0; l < Columns; ++l) {
        float sum = 0;
        for (std::size_t v = 0; v < Taps; ++v) sum += weights[v] * from[l + v];
        total[l] += sum;
    }
}

template <std::size_t Columns>
inline void add_row(const float* __restrict from, const float* __restrict weights, std::size_t taps,
                    float* __restrict total) {
    for (; taps > most_taps; taps -= most_taps, from += most_taps, weights += most_taps) {
        add_taps<Columns, most_taps>(from, weights, total);
    }
    switch (taps) {
        case 1:
            return add_taps<Columns, 1>(from, weights, total);
        case 2:
            return add_taps<Columns, 2>(from, weights, total);
        case 3:
            return add_taps<Columns, 3>(from, weights, total);
        case 4:
            return add_taps<Columns, 4>(from, weights, total);
        default:
            return add_taps<Columns, 5>(from, weights, total);
    }
}

struct Filter {
    const float* weights;
    std::size_t rows;
    std::size_t columns;
};

template <std::size_t Columns>
inline void correlate_strip(const float* __restrict window, std::ptrdiff_t pitch, Filter filter,
                            float* __restrict out) {
    float total[Columns] = {};
    for (std::size_t u = 0; u < filter.rows; ++u, window += pitch) {
        add_row<Columns>(window, filter.weights + u * filter.columns, filter.columns, total);
    }
    for (std::size_t l = 0; l < Columns; ++l) out[l] = total[l];
}

// One row of the result. A remainder is computed as one more whole strip that overlaps the last: same values, stored
// twice.
inline void correlate_row(const float* window, std::ptrdiff_t pitch, Filter filter, std::span<float> out) {
    const std::size_t columns = out.size();
    std::size_t j = 0;
    for (; j + strip <= columns; j += strip) correlate_strip<strip>(window + j, pitch, filter, &out[j]);
    if (j < columns && columns > strip) {
        correlate_strip<strip>(window + columns - strip, pitch, filter, &out[columns - strip]);
        return;
    }
    for (; j < columns; ++j) correlate_strip<1>(window + j, pitch, filter, &out[j]);
}

}  // namespace

void correlate(view<const float, 2> window, std::span<const float> filter, view<float, 2> out) {
    if (out.empty()) return;
    const std::size_t rows = window.extent(0) - out.extent(0) + 1;
    const std::size_t columns = window.extent(1) - out.extent(1) + 1;
    for (std::size_t i = 0; i < out.extent(0); ++i) {
        const float* from = window.row(i).data();
        // The usual shape with constant bounds is a fifth faster.
        if (rows == 5 && columns == 5) {
            correlate_row(from, window.stride(0), {filter.data(), 5, 5}, out.row(i));
        } else {
            correlate_row(from, window.stride(0), {filter.data(), rows, columns}, out.row(i));
        }
    }
}

}  // namespace penstock::kernels
