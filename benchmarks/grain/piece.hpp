// The work of ./bench grain, and how its results are put together; also for the rivals that are programs of their own.
#pragma once

#include <cstdint>

namespace bench::grain {

/// A piece of work: a chain of multiplications that needs no memory. `iterations` says how long it takes.
inline std::uint64_t piece(std::uint64_t value, std::int32_t iterations) {
    for (std::int32_t i = 0; i < iterations; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
    return value;
}

/// What comes out is put together in order, so that every way must give the same.
inline void fold(std::uint64_t& digest, std::uint64_t value) { digest = digest * 31 + value; }

}  // namespace bench::grain
