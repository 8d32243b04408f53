// Something that threads of several processes sleep for: an event count in shared memory.
//
// Who makes something happen publishes it by a sequentially consistent store and then calls notify(); who sleeps raises
// the count, looks once more (by sequentially consistent loads), and sleeps until the epoch moves. All four are in one
// order, so either the last look sees what was published or notify() sees the sleeper. Sleeps are bounded: a process
// that dies asleep leaves the count raised, which costs system calls and nothing else.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

#include "machine/upper_halves.hpp"

namespace penstock::python {

struct alignas(128) SharedEvent {
    std::atomic<std::uint32_t> sleepers{0};
    std::atomic<std::uint32_t> epoch{0};

    void notify(int most = INT_MAX) noexcept {
        if (sleepers.load(std::memory_order_seq_cst) == 0) [[likely]]
            return;
        epoch.fetch_add(1, std::memory_order_seq_cst);
        syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&epoch), FUTEX_WAKE, most, nullptr, nullptr, 0);
    }

    /// Sleeps at most `longest` unless `ready()` says so. True when it said so before the sleep.
    template <class Ready>
    bool sleep(Ready&& ready, std::chrono::nanoseconds longest) noexcept {
        sleepers.fetch_add(1, std::memory_order_seq_cst);
        const auto seen = epoch.load(std::memory_order_seq_cst);
        const bool now = ready();
        if (!now) {
            timespec limit{};
            limit.tv_sec = static_cast<time_t>(longest.count() / 1'000'000'000);
            limit.tv_nsec = static_cast<long>(longest.count() % 1'000'000'000);
            syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&epoch), FUTEX_WAIT, seen, &limit, nullptr, 0);
            forget_upper_halves();
        }
        sleepers.fetch_sub(1, std::memory_order_relaxed);
        return now;
    }
};

}  // namespace penstock::python
