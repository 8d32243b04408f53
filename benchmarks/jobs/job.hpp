// Cell-RTL's synthetic job: so many cycles for each byte that it reads, and as many bytes written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "penstock/detail/machine/clock.hpp"

namespace jobs {

using In = std::span<const std::uint64_t>;
using Out = std::span<std::uint64_t>;

/// `cycles` cycles a byte, by a chain of multiplications and additions that none can begin before the one before it has
/// ended (3 + 1 cycles on the processors of these years; how long a job really takes is measured). `ticks`: the time
/// inside.
template <int cycles>
void job(In x, Out y, std::uint64_t& ticks) {
    const auto begin = penstock::Clock::ticks();
    std::uint64_t state = 1;
    for (std::size_t i = 0; i < y.size(); ++i) {
        for (int n = 0; n < 2 * cycles; ++n) {
            state = state * 6364136223846793005u + x[i];
            asm volatile("" : "+r"(state));  // none is computed before it is its turn, and none left out
        }
        y[i] = state;
    }
    ticks = penstock::Clock::ticks() - begin;
}

}  // namespace jobs
