// task layer: what a thread needs to run tasks: a local store, a prefetcher, counters. Each target has one and each initiator, for
// the tasks that it runs while it helps.
//
// One task goes through TPC's stages: FETCH (its arguments are prefetched while the task before it is active, and what must be
// staged is copied into the local store), READY, ACTIVE, WRITE-BACK (staged results are copied out), COMPLETE (the completion is
// published). FETCH and WRITE-BACK are in the entry's trampoline (landing.hpp); COMPLETE is the caller's.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "penstock/entry.hpp"
#include "penstock/initiator.hpp"
#include "penstock/local_store.hpp"
#include "penstock/options.hpp"
#include "penstock/ring.hpp"
#include "penstock/trace_counters.hpp"
#include "task/posting.hpp"
#include "task/prefetcher.hpp"
#include "task/ready_queue.hpp"

namespace penstock {

struct Replay;
struct ReplayStep;

class Runner {
  public:
    /// `target`: index of the target that this runs for, or Initiator::any_target for a helping thread.
    Runner(Initiator& self, int target, std::size_t store_bytes, const MachineOptions& options) noexcept
        : self_(self), target_(target), jobs_in_flight_(options.jobs_in_flight), store_(store_bytes),
          prefetcher_(options.jobs_in_flight == 1 ? Prefetch::never : options.prefetch) {}

    /// Runs one task. Whatever it throws is kept in `ring`. The caller completes the record afterwards, and then calls notify() with the
    /// notice that this returns, unless that is 0.
    std::uint32_t run(Ring& ring, TaskPayload& payload, Extension* extension, std::uint64_t number) noexcept;
    /// Runs claimed tasks and completes each, as claimant `claimant`.
    void run_claimed(Ring& ring, PendingRing<TaskPayload>::Claim claim, std::uint32_t claimant) noexcept;

    /// Runs what another target has posted.
    void run_posted(const Posting& posting) noexcept;

    /// Tells the initiator of a completed task what it asked to be told.
    void notify(Ring& ring, std::uint32_t notice) noexcept;

    /// Entry number of the task that runs here now (the outermost, where tasks wait inside tasks), 0 for none. Any thread.
    std::uint32_t running() const noexcept { return running_.load(std::memory_order_relaxed); }

    // ---- dependent tasks ----

    /// Runs a task that waits for nothing any more and, while completing it makes others ready, one of these after the other, whose data
    /// are warm; the rest is handed on. Returns how many it ran.
    std::uint64_t run_dependent(DependentNode& first) noexcept;
    /// Runs one that is ready anywhere in the machine, of this scope unless it is null. Returns how many it ran.
    std::uint64_t run_ready(const Scope* only) noexcept;
    bool can_run_ready(const Scope* only) noexcept;
    /// Hands on what waited for tasks that could not tell, and no longer has to.
    void look_at_watched() noexcept;
    /// Runs the steps of one worker of a recording.
    void replay(Replay& replay, std::uint32_t worker) noexcept;
    /// Those that became ready here, for anybody, and those for this target alone. Any thread.
    ReadyQueue& ready() noexcept { return ready_; }
    ReadyQueue& named() noexcept { return named_; }
    /// A dependent task that runs on this thread, innermost first.
    struct Running {
        DependentNode* node;
        const Running* outer;
    };
    const Running* dependents_running() const noexcept { return dependents_running_; }

    /// Fetches the arguments of the task that will run after the one that is about to.
    void prefetch(const TaskPayload& next, Extension* extension) noexcept {
        const auto bytes = prefetcher_.next(next, extension->bytes);
        if (bytes == 0) return;
        counters_.prefetched_bytes.add(bytes);
        counters_.prefetched_tasks.add();
        fits_ = static_cast<std::uint32_t>(std::min<std::size_t>(store_.capacity() / bytes, MachineOptions::max_jobs_in_flight));
    }
    /// How many tasks beyond the current one may have their data on the way: what was asked for, but no more than the local store would
    /// hold of the size seen last, and one at least.
    std::uint32_t ahead() const noexcept { return std::max(1u, std::min(jobs_in_flight_ - 1, fits_)); }
    void interrupted() noexcept { prefetcher_.interrupted(); }

    /// How deep tasks wait inside tasks on this thread now; 0 outside tasks.
    std::uint32_t depth() const noexcept { return depth_; }
    /// Tasks run here since the start. The acquire makes visible what they wrote.
    std::uint64_t executed() const noexcept { return counters_.tasks.value_acquire(); }
    trace::TargetCounters& counters() noexcept { return counters_; }
    LocalStore& store() noexcept { return store_; }

  private:
    class Inside;

    std::uint32_t run_one(Ring& ring, TaskPayload& payload, Extension* extension, std::uint64_t number) noexcept;

    void run_step(Replay& replay, const ReplayStep& step, Extension& extension) noexcept;
    DependentNode* run_and_release(DependentNode& node) noexcept;
    DependentNode* take_several(ReadyQueue& queue) noexcept;
    void pass_over(Ring& ring, DependentNode& node, const Entry& entry, const PackedArguments& arguments, std::uint64_t number) noexcept;
    std::uint64_t start_sample() noexcept;
    void end_sample(std::uint64_t begin, const TaskPayload& payload, std::byte* extension, const Ring& ring) noexcept;
    void keep_failure(Ring& ring, const Entry& entry, std::uint64_t number) noexcept;
    void skip(Ring& ring, const Entry& entry, const PackedArguments& arguments, std::uint64_t number) noexcept;

    Initiator& self_;
    int target_;
    std::uint32_t jobs_in_flight_;
    std::uint32_t fits_ = MachineOptions::max_jobs_in_flight;
    std::uint32_t depth_ = 0;
    std::atomic<std::uint32_t> running_{0};
    std::uint32_t until_sample_ = 1;
    LocalStore store_;
    Prefetcher prefetcher_;
    trace::TargetCounters counters_;
    const Running* dependents_running_ = nullptr;
    ReadyQueue ready_;
    ReadyQueue named_;
};

}  // namespace penstock
