// Who has which rows (and, after the exchange, which columns), and the blocks in which they are transposed.
#pragma once

#include <algorithm>
#include <cstddef>

#include "apps/fft2d/fft2d.hpp"
#include "penstock/transpose.hpp"

namespace penstock::apps::fft2d {

/// Equally many groups of 8 rows for each rank (to within one), so that a line never has two writers.
struct Layout {
    Range of(std::size_t rank) const noexcept {
        const std::size_t groups = parts(n, Problem::line);
        return {std::min(n, groups * rank / ranks * Problem::line),
                std::min(n, groups * (rank + 1) / ranks * Problem::line)};
    }
    std::size_t count(std::size_t rank) const noexcept { return of(rank).end - of(rank).begin; }

    std::size_t n;
    std::size_t ranks;
};

/// to[c][r] = from[r][c] for rows x columns elements, whole lines on both sides: the same code as that of remote
/// stores.
inline void transpose(const Complex* from, std::size_t from_pitch, Complex* to, std::size_t to_pitch, std::size_t rows,
                      std::size_t columns) noexcept {
    store_transposed({.to = reinterpret_cast<std::byte*>(to),
                      .from = reinterpret_cast<const std::byte*>(from),
                      .rows = columns,
                      .columns = rows,
                      .to_pitch = to_pitch,
                      .from_pitch = from_pitch,
                      .element = sizeof(Complex)},
                     StoreWay::plain);
}

}  // namespace penstock::apps::fft2d
