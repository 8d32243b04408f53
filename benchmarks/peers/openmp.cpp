// OpenMP tasks: one parallel region a batch, the first thread issues, the others execute at the region's barrier.
#if defined(_OPENMP)
#include "peers/openmp.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "harness/processors.hpp"
#include "peers/peer.hpp"

namespace bench {

int openmp_team_size() { return std::max(2, static_cast<int>(allowed_processors().size())); }

void bind_openmp_team() {
    static const bool bound = [] {
        const auto& processors = allowed_processors();
#pragma omp parallel num_threads(openmp_team_size())
        {
            const auto rank = static_cast<std::size_t>(omp_get_thread_num());
            if (rank != 0) pin_this_thread(processors[rank % processors.size()]);
        }
        return true;
    }();
    (void)bound;
}

namespace {

void in_a_region(const std::function<void()>& batch) {
    bind_openmp_team();
    const Pinned pinned{allowed_processors().front()};
#pragma omp parallel num_threads(openmp_team_size())
#pragma omp master
    batch();
}

void hand_off_and_watch() {
    std::atomic<bool> executed{false};
#pragma omp task shared(executed)
    executed.store(true, std::memory_order_release);
    while (!executed.load(std::memory_order_acquire)) {
    }
#pragma omp taskwait
}

}  // namespace

Peer openmp_peer() {
    Peer peer{"openmp-task"};
    peer.inside = in_a_region;
    peer.round_trip = [] {
#pragma omp task
        null_task();
#pragma omp taskwait
    };
    peer.hand_off = hand_off_and_watch;
    peer.many = [](int tasks) {
        for (int i = 0; i < tasks; ++i) {
#pragma omp task
            null_task();
        }
#pragma omp taskwait
    };
    return peer;
}

Peer openmp_depend_peer() {
    static std::array<char, 1024> cells{};  // what the tasks name; each is free again long before its next turn
    Peer peer{"openmp-depend"};
    peer.inside = in_a_region;
    peer.round_trip = [] {
        [[maybe_unused]] char* const cell = cells.data();
#pragma omp task depend(inout : cell[0])
        null_task();
#pragma omp taskwait
    };
    peer.hand_off = [] {
        [[maybe_unused]] char* const cell = cells.data();
        std::atomic<bool> executed{false};
#pragma omp task shared(executed) depend(inout : cell[0])
        executed.store(true, std::memory_order_release);
        while (!executed.load(std::memory_order_acquire)) {
        }
#pragma omp taskwait
    };
    peer.many = [](int tasks) {
        [[maybe_unused]] char* const cell = cells.data();
        for (int i = 0; i < tasks; ++i) {
            [[maybe_unused]] const std::size_t turn = static_cast<std::size_t>(i) % cells.size();
#pragma omp task depend(inout : cell[turn])
            null_task();
        }
#pragma omp taskwait
    };
    return peer;
}

}  // namespace bench
#endif
