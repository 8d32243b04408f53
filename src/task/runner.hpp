// task layer: what a thread needs to run tasks: a local store, a prefetcher, counters. Each target has one and each initiator, for
// the tasks that it runs while it helps.
//
// One task goes through TPC's stages: FETCH (its arguments are prefetched while the task before it is active, and what must be
// staged is copied into the local store), READY, ACTIVE, WRITE-BACK (staged results are copied out), COMPLETE (the completion is
// published). FETCH and WRITE-BACK are in the entry's trampoline (landing.hpp); COMPLETE is the caller's.
#pragma once

#include <cstdint>

#include "penstock/entry.hpp"
#include "penstock/initiator.hpp"
#include "penstock/local_store.hpp"
#include "penstock/options.hpp"
#include "penstock/ring.hpp"
#include "penstock/trace_counters.hpp"
#include "task/prefetcher.hpp"

namespace penstock {

class Runner {
  public:
    /// `target`: index of the target that this runs for, or Initiator::any_target for a helping thread.
    Runner(Initiator& self, int target, std::size_t store_bytes, Prefetch prefetch) noexcept
        : self_(self), target_(target), store_(store_bytes), prefetcher_(prefetch) {}

    /// Runs one task. Whatever it throws is kept in `ring`. The caller completes the record afterwards.
    void run(Ring& ring, TaskPayload& payload, Extension* extension, std::uint64_t number) noexcept;
    /// Runs claimed tasks and completes each, as claimant `claimant`.
    void run_claimed(Ring& ring, PendingRing<TaskPayload>::Claim claim, std::uint32_t claimant) noexcept;

    /// Fetches the arguments of the task that will run after the one that is about to.
    void prefetch(const TaskPayload& next, Extension* extension) noexcept {
        if (const auto bytes = prefetcher_.next(next, extension->bytes)) counters_.prefetched_bytes.add(bytes);
    }
    void interrupted() noexcept { prefetcher_.interrupted(); }

    /// How deep tasks wait inside tasks on this thread now; 0 outside tasks.
    std::uint32_t depth() const noexcept { return depth_; }
    /// Tasks run here since the start. The acquire makes visible what they wrote.
    std::uint64_t executed() const noexcept { return counters_.tasks.value_acquire(); }
    trace::TargetCounters& counters() noexcept { return counters_; }
    LocalStore& store() noexcept { return store_; }

  private:
    class Inside;

    void run_one(Ring& ring, TaskPayload& payload, Extension* extension, std::uint64_t number) noexcept;
    std::uint64_t start_sample() noexcept;
    void end_sample(std::uint64_t begin, const TaskPayload& payload, std::byte* extension, const Ring& ring) noexcept;
    void keep_failure(Ring& ring, const Entry& entry, std::uint64_t number) noexcept;
    void skip(Ring& ring, const Entry& entry, const PackedArguments& arguments, std::uint64_t number) noexcept;

    Initiator& self_;
    int target_;
    std::uint32_t depth_ = 0;
    std::uint32_t until_sample_ = 1;
    LocalStore store_;
    Prefetcher prefetcher_;
    trace::TargetCounters counters_;
};

}  // namespace penstock
