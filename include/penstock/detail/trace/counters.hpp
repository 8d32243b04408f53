// What each initiator and each target counts while it works: one writer, any number of readers, no read-modify-write.
//
// Counting costs a load and a store to a line that only the writer writes. Reading the clock costs more than a small
// task does, so durations are taken on a sample (one task in `tasks_a_sample`) and scaled by the exact counts; only
// what is rare anyway (stalls, idle periods) is timed each time. The layer knows ids and ticks; what a tick is worth,
// the reader says.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock::trace {

/// One task in this many is timed, and one call: reading the clock twice costs more than a null task.
inline constexpr std::uint32_t tasks_a_sample = 128;

/// A number that one thread raises and any thread reads. Cost: a load and a store, both relaxed.
class Counter {
  public:
    void add(std::uint64_t n = 1) noexcept { value_.store(value() + n, std::memory_order_relaxed); }
    std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }
    /// The same pair, where the count also says that what was done before it is visible to who reads it.
    void add_release(std::uint64_t n = 1) noexcept { value_.store(value() + n, std::memory_order_release); }
    std::uint64_t value_acquire() const noexcept { return value_.load(std::memory_order_acquire); }

  private:
    std::atomic<std::uint64_t> value_{0};
};

/// Ticks spent in a state, exact even while the state lasts: a target that has been idle since an hour ago reads as
/// idle. One writer, any reader; a single word, so that a reader never sees half a change.
///
/// The word holds (sum << 1 | running). Starting at `now` subtracts `now` from the sum, ending adds it, so a reader who
/// finds it running adds its own `now`. Sums are modulo 2^63; 2^62 ticks are 29 years at 5 GHz.
class Stopwatch {
  public:
    /// Adds a period that is over, in ticks.
    void add(std::uint64_t ticks) noexcept { store(load() + (ticks << 1)); }

    /// The state begins at tick `now`. Must not be running.
    void begin(std::uint64_t now) noexcept { store((load() - (now << 1)) | 1u); }

    /// The state ends at tick `now`. Must be running.
    void end(std::uint64_t now) noexcept { store((load() & ~std::uint64_t{1}) + (now << 1)); }

    bool running() const noexcept { return (load() & 1u) != 0; }

    /// Ticks up to `now`, the period that lasts included. A clock that lags behind the writer's reads as no time at
    /// all.
    std::uint64_t value(std::uint64_t now) const noexcept {
        const std::uint64_t word = load();
        const std::uint64_t sum = ((word & 1u) != 0 ? (word >> 1) + now : word >> 1) & mask;
        return sum > mask / 2 ? 0 : sum;
    }

  private:
    static constexpr std::uint64_t mask = ~std::uint64_t{0} >> 1;

    std::uint64_t load() const noexcept { return word_.load(std::memory_order_relaxed); }
    void store(std::uint64_t word) noexcept { word_.store(word, std::memory_order_relaxed); }

    std::atomic<std::uint64_t> word_{0};
};

/// What one initiator counts; only its thread writes. Three states exclude one another, so that the shares of a
/// breakdown add up: time inside a call is net of stalls and of tasks run there, time inside a wait is net of tasks run
/// there.
template <class Count, class Ticks>
struct InitiatorFields {
    Count calls{};      ///< tasks issued, by whatever way they went
    Count committed{};  ///< of these: put into a lane
    Count helped{};     ///< tasks that the initiator ran itself while it waited
    Count inlined{};    ///< tasks that the initiator ran itself inside the call
    Count stalls{};     ///< times that a call had to wait because everything was full
    Count refused{};    ///< calls that were refused

    Count sampled_calls{};       ///< calls that were timed
    Count sampled_call_ticks{};  ///< ticks of these, net of stalls and of inlined tasks

    Ticks stall_ticks{};  ///< ticks stalled; every stall is timed

    Count waits{};               ///< waits and barriers that had to wait
    Count sampled_waits{};       ///< of these: timed (a writer that times each of them adds to both)
    Count sampled_wait_ticks{};  ///< ticks of these, net of helped tasks

    Count callbacks{};  ///< call-backs that ran

    Count help_ticks_sampled{};  ///< ticks of the timed ones among helped and inlined tasks
    Count help_sampled{};        ///< how many of these were timed
};

/// What one target counts; only its thread writes. What is neither computing, nor copies, nor idle is the library's.
template <class Count, class Ticks>
struct TargetFields {
    Count tasks{};   ///< tasks that ran here, however they came
    Count pulled{};  ///< of these: fetched from an initiator's deque
    Count failed{};  ///< of these: ended by an exception

    Count sampled_tasks{};           ///< tasks whose body was timed
    Count sampled_compute_ticks{};   ///< ticks of these bodies, net of copies
    Count sampled_transfer_ticks{};  ///< ticks of their copies into the local store and back

    Count staged_bytes{};      ///< bytes copied into the local store or back
    Count prefetched_bytes{};  ///< bytes asked for ahead of their task
    Count prefetched_tasks{};  ///< tasks whose arguments were asked for ahead
    Count late{};              ///< tasks that completed after their deadline

    Ticks idle_ticks{};    ///< ticks without a task; every idle period is timed
    Count idle_periods{};  ///< how many such periods began
    Count parks{};         ///< how many of them ended in sleep
};

struct alignas(128) InitiatorCounters : InitiatorFields<Counter, Stopwatch> {};
struct alignas(128) TargetCounters : TargetFields<Counter, Stopwatch> {};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "counters may lie in memory shared by two processes");
static_assert(sizeof(InitiatorCounters) == 128 && sizeof(TargetCounters) == 128);

}  // namespace penstock::trace
