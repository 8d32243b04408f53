// What a program and its worker processes share beside arrays: seats, lanes and deques. Lies in the control heap, at
// the same address in all of them.
//
// Who writes what stands beside it. A worker trusts what the program wrote; the program checks what a worker could have
// written over against what it knows itself (contract 19).
#pragma once

#include <array>

#include "penstock/detail/channel/channel.hpp"
#include "penstock/detail/channel/pending.hpp"
#include "penstock/detail/machine/waiter.hpp"
#include "penstock/detail/task/descriptor.hpp"
#include "penstock/detail/trace/counters.hpp"
#include "penstock/options.hpp"
#include "task/isolated/journalled_claim.hpp"

namespace penstock::isolated {

/// What a ring is, and where its parts lie.
struct RingFacts {
    std::uint32_t index = 0;
    bool lane = false;
    int only_target = -1;
    std::uint32_t capacity = 0;
    TaskRecord* slots = nullptr;
    Extension* extensions = nullptr;
    Done<>* done = nullptr;  ///< null for lanes; written by the workers
    Doorbell* owner_bell = nullptr;
    Initiation initiation = Initiation::push;

    friend bool operator==(const RingFacts&, const RingFacts&) = default;
    TaskRecord& record(std::uint64_t number) const noexcept {
        return slots[static_cast<std::uint32_t>(number - 1) & (capacity - 1)];
    }
    std::atomic<std::uint64_t>& done_of(std::uint64_t number) const noexcept {
        return done[static_cast<std::uint32_t>(number - 1) & (capacity - 1)].number;
    }
};

/// The shared part of a ring (ring.hpp). What it is was written once, by the program.
struct SharedRing : RingFacts {
    std::atomic<std::uint32_t> cancels{0};  ///< the program's: cancellations asked for
    Issued<> bell;                          ///< the program's
    Credits<> credits;                      ///< the worker's
    Claims<> claims;                        ///< the workers'
};

/// What a worker runs at this moment. Atomic, so that the program may look while it runs.
struct RunningNote {
    std::atomic<std::uint32_t> on{0};  ///< 1 from before the task starts until after it is complete and counted
    std::atomic<std::uint32_t> ring{0};
    std::atomic<std::uint64_t> number{0};
    std::atomic<std::uint64_t> ordinal{0};  ///< what `counters.tasks` becomes with this task
    std::atomic<std::uint32_t> flags{0};    ///< of the descriptor: its time limit
    /// Of a task with a time limit: 2 * ordinal while it runs. The supervisor makes it odd before it ends the worker,
    /// the worker 0 when the task has returned: whoever comes second has lost, so that no later task is ended for this
    /// one.
    std::atomic<std::uint64_t> timed{0};
    std::atomic<std::uint32_t> step{0};  ///< of the chain that runs, from 1; 0: none
};

/// What a worker has to tell or to ask about its task, for whose answer it waits; or that it has nothing to do.
struct Report {
    enum Kind : std::uint32_t {
        failed = 1,
        may_start = 2,
        nothing_to_do = 3,  ///< the answer to the seat's question; waits for none
    };
    std::array<char, 240> type{};
    std::array<char, 1784> text{};
};

/// A target's place, which one worker after another takes.
struct TargetSeat {
    // The worker's, with every task.
    alignas(128) RunningNote running;
    ClaimNote<> claim;
    trace::TargetCounters counters;
    // The worker's, now and then; read by those who issue.
    alignas(128) Doorbell bell;
    Report report;
    // The program's.
    int processor = -1;
    std::atomic<std::uint32_t> question{0};  ///< grows: have you really nothing to do?
};

/// Where a worker finds all of it.
struct Board {
    static constexpr std::uint32_t most_rings = 16'384;
    static constexpr std::uint64_t right_magic = 0x31'44'52'41'4f'42'4e'50;

    std::uint64_t magic = right_magic;
    std::uint32_t seats = 0;
    TargetSeat* seat = nullptr;
    WaitPolicy wait_policy{};
    std::uint64_t local_store = 0;
    bool all_timed = false;          ///< tasks have a time limit also where they bring none
    std::uint64_t memory_limit = 0;  ///< bytes of private memory a worker may take; 0: no limit
    std::atomic<std::uint32_t> stopping{0};
    std::atomic<std::uint64_t> workers{0};  ///< that have taken a seat so far; the workers'
    std::atomic<std::uint32_t> ring_count{0};
    std::array<SharedRing*, most_rings> rings{};
};

/// Time limits travel in a descriptor's flags, above the bits of TaskPayload: 24 bits of 100 microseconds.
inline constexpr std::uint32_t limit_shift = 8;
inline constexpr std::int64_t limit_unit = 100'000;
inline constexpr std::chrono::nanoseconds longest_limit = std::chrono::minutes(27);
static_assert(longest_limit.count() / limit_unit < std::int64_t{1} << (32 - limit_shift));

}  // namespace penstock::isolated
