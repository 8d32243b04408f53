// Who has which rows (and, after the exchange, which columns), and the blocks in which they are transposed.
#pragma once

#include <algorithm>
#include <cstddef>

#include "apps/fft2d/fft2d.hpp"

namespace penstock::apps::fft2d {

/// Equally many groups of 8 rows for each rank (to within one), so that a line never has two writers.
struct Layout {
    Range of(std::size_t rank) const noexcept {
        const std::size_t groups = parts(n, Problem::line);
        return {std::min(n, groups * rank / ranks * Problem::line), std::min(n, groups * (rank + 1) / ranks * Problem::line)};
    }
    std::size_t count(std::size_t rank) const noexcept { return of(rank).end - of(rank).begin; }

    std::size_t n;
    std::size_t ranks;
};

/// to[c][r] = from[r][c] for rows x columns elements, in blocks of 8 x 8: whole lines on both sides.
inline void transpose(const Complex* from, std::size_t from_pitch, Complex* to, std::size_t to_pitch, std::size_t rows,
                      std::size_t columns) noexcept {
    constexpr std::size_t block = Problem::line;
    for (std::size_t row = 0; row < rows; row += block) {
        const std::size_t high = std::min(block, rows - row);
        for (std::size_t column = 0; column < columns; column += block) {
            const std::size_t wide = std::min(block, columns - column);
            const Complex* const source = from + row * from_pitch + column;
            Complex* const target = to + column * to_pitch + row;
            if (high == block && wide == block) {
                for (std::size_t c = 0; c < block; ++c)
                    for (std::size_t r = 0; r < block; ++r) target[c * to_pitch + r] = source[r * from_pitch + c];
            } else {
                for (std::size_t c = 0; c < wide; ++c)
                    for (std::size_t r = 0; r < high; ++r) target[c * to_pitch + r] = source[r * from_pitch + c];
            }
        }
    }
}

}  // namespace penstock::apps::fft2d
