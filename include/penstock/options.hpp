// task layer: what a user can choose about a machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "penstock/call_options.hpp"
#include "penstock/detail/channel/channel.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Which target an unnamed task goes to.
enum class Distribution : std::uint8_t {
    /// An idle target is pushed a lone task; the rest waits in the deque, and who is free takes the oldest
    balanced,
    round_robin,   ///< TPC's: each target in turn, into its lane
    least_loaded,  ///< the target whose lane holds the fewest tasks
};

/// What a call does when the lane (or, with defer, the deque) is full.
enum class WhenFull : std::uint8_t {
    defer,   ///< the task goes into the initiator's deque, up to `pending_limit`; beyond that the call waits
    wait,    ///< the call waits for a slot of the lane: TPC's "queue stall"
    refuse,  ///< the call throws QueueFull
};

/// When the next task's arguments, or the buffer that waits behind the one that a filter reads, are prefetched while
/// the current one runs.
enum class Prefetch : std::uint8_t {
    measured,  ///< where a running comparison of the ways shows that it pays (the default)
    always,
    never,
};

/// Where targets run.
enum class Isolation : std::uint8_t {
    none,     ///< threads of this process (the default)
    process,  ///< worker processes with private memory: what a task does to itself ends its worker and nothing else
};

/// Items of a piece into which for_each cuts a range: a number, which pieces come near to, or automatic.
class Grain {
  public:
    /// Sized while the loop runs: large enough that handing a piece over costs little beside its work, small enough for
    /// balance and for the local store.
    constexpr Grain() noexcept = default;
    /// About so many items each, all pieces equal. Throws UsageError for zero.
    constexpr Grain(std::size_t items) : items_(items) {
        if (items == 0)
            throw UsageError("pieces of a loop have at least one item; leave the grain out to have it chosen");
    }
    /// Is it chosen while the loop runs?
    constexpr bool is_automatic() const noexcept { return items_ == 0; }
    /// Items of a piece; 0: automatic.
    constexpr std::size_t items() const noexcept { return items_; }

  private:
    std::size_t items_ = 0;
};
inline constexpr Grain automatic_grain{};

/// Several targets of one kind, under a name, in a machine that has several kinds.
struct TargetClass {
    std::string name;
    int targets = 1;
    Isolation isolation = Isolation::none;
    /// Of threads: filters are slowed down so that their firings last 1/speed as long as they would: to try out what
    /// a machine with unequal targets would do. Above 0, at most 1.
    double speed = 1;
    friend bool operator==(const TargetClass&, const TargetClass&) = default;
};

/// What a machine is made of.
struct MachineOptions {
    static constexpr int one_per_processor = -1;             ///< for `targets`
    static constexpr std::uint32_t max_depth = 1024;         ///< of a lane
    static constexpr int max_targets = 256;                  ///< of a machine
    static constexpr std::uint32_t max_jobs_in_flight = 32;  ///< of a target

    /// Number of targets; by default one for each processor that this process may use, but one for the initiator.
    /// 0: every task runs inside its call.
    int targets = one_per_processor;
    /// Tasks that a lane holds at once, 1 to 1024. Used by named targets, round_robin and least_loaded. From 16 on
    /// little changes, but with arguments of 64 KiB 4 to 8 were faster by a tenth and more: `./bench paper tpc-queue`.
    std::uint32_t depth = 64;
    Distribution distribution = Distribution::balanced;  ///< where unnamed tasks go
    /// `./bench paper tpc-null-task` compares all four ways.
    Initiation initiation = Initiation::push;
    Completion completion = Completion::automatic;  ///< how completions come back
    WhenFull when_full = WhenFull::defer;           ///< what a call does without room
    /// Tasks that one initiator may have waiting in its deque (a million descriptors are 64 MiB). 0: without limit.
    std::size_t pending_limit = std::size_t{1} << 20;
    /// `./bench paper prefetch` shows what the rule gains, and what fetching always would lose.
    Prefetch prefetch = Prefetch::measured;
    /// Tasks whose data are near a target or on the way there at once, 1 to 32: the one that runs and those behind it
    /// in its lane or claim whose arguments are prefetched, as far as they fit the local store (Cell-RTL's
    /// multi-buffering). 1: no prefetch. `./bench paper prefetch` has 2 and 4 for strided data: 4 are rarely faster.
    /// Of views in one piece `measured` tries those of at most 16 KiB, and the beginnings of those that are staged:
    /// with `always`, 1 is best for longer ones (`./bench paper cell-in-flight` compares 1 to 4).
    std::uint32_t jobs_in_flight = 2;
    /// How initiators learn of completions, unless a call asks for more. Other than `polled`, every call takes the long
    /// way (CallOptions): `./bench paper cell-notification` compares them.
    Notification notification = Notification::polled;
    /// A wait during which no task of the machine has ended for this long throws Stalled, with a report of who waits
    /// for whom; 0: never. Longer than the longest task, please.
    std::chrono::nanoseconds watchdog{0};
    /// Pin each target to a processor of its own, where there are enough of them. The processor on which the machine is
    /// made is left to the thread that makes it: who pins that thread too should do so before.
    bool pin = true;
    /// Name of a processor budget to share with other machines and processes; empty: what PENSTOCK_BUDGET says, or
    /// none.
    std::string budget{};
    /// How long an idle target, or a thread that waits, spins before it sleeps: about as long as waking it takes
    /// (`./bench null-task`, rows "asleep"). With more of them than processors at most 20 us. A target to which work
    /// came within ten times as long spins twice that long for the next: loops and runs in a row find it awake.
    std::chrono::nanoseconds spin{50'000};
    /// Bytes of each target's local store; 0: half of its L2 cache.
    std::size_t local_store = 0;
    /// Bytes of buffers that the filters of one target may have under way: made, and not yet dropped by their last
    /// reader. Where so many are, a filter that has two or more at one of its outputs does not fire before its own
    /// oldest have come back; the others go on. Filters without a place share one budget; the program's own writers
    /// have none. 0: no limit.
    std::size_t buffer_bytes = 0;
    /// How deep tasks may wait inside tasks.
    std::uint32_t nesting_limit = 500;
    /// With Isolation::process the program must have called penstock::launch() on main's first line.
    Isolation isolation = Isolation::none;
    /// A task in a worker process that takes longer is ended, and its worker with it; noticed within an eighth of the
    /// limit. At least a millisecond and at most 27 minutes; 0: no limit.
    std::chrono::nanoseconds time_limit{0};
    /// Bytes of private memory that a worker process may take beyond what it started with; 0: no limit. Tasks see
    /// std::bad_alloc.
    std::size_t worker_memory = 0;
    /// Classes of targets, in the place of `targets` and `isolation`: threads and worker processes in one machine.
    /// Targets are numbered class by class, threads first. Plain calls go to the threads; on("name") names a class.
    /// Filters go to the classes that FilterOptions::target_classes names.
    std::vector<TargetClass> classes{};
};

}  // namespace penstock
