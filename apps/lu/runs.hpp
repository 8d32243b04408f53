// Blocks of one column that lie one below the other are one piece of memory: a run. Procedures for all blocks of a run,
// each of which has `rows` rows, the last one perhaps fewer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/lu.hpp"

namespace penstock::apps::lu {

template <class Real>
void bdiv_run(std::span<const Real> diagonal, std::span<Real> run, std::int32_t order, std::int32_t rows) {
    const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(order);
    for (std::size_t at = 0; at < run.size(); at += size)
        kernels::lu::bdiv<Real>(diagonal, run.subspan(at, std::min(size, run.size() - at)), order);
}

template <class Real>
void bmod_run(std::span<const Real> left, std::span<const Real> above, std::span<Real> run, std::int32_t order,
              std::int32_t rows) {
    const auto across = static_cast<std::size_t>(order);
    const std::size_t columns = above.size() / across;
    for (std::size_t row = 0; row * columns < run.size(); row += static_cast<std::size_t>(rows)) {
        const std::size_t here = std::min(static_cast<std::size_t>(rows), run.size() / columns - row);
        kernels::lu::bmod<Real>(left.subspan(row * across, here * across), above,
                                run.subspan(row * columns, here * columns), order);
    }
}

}  // namespace penstock::apps::lu
