// Counters that one thread at a time writes and any thread reads.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock::streaming {

/// Not a read-modify-write: only whoever runs the station counts.
inline void tally(std::atomic<std::uint64_t>& counter, std::uint64_t more = 1) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace penstock::streaming
