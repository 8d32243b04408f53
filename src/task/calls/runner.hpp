// task layer: what a thread needs to run tasks: a local store, a prefetcher, counters. Each target has one and each
// initiator, for the tasks that it runs while it helps.
//
// One task goes through TPC's stages: FETCH (its arguments are asked for while the task before it is active, between
// the copies of that one and its body, or before it where nothing is copied; what must be staged is copied into the
// local store when its own turn comes, behind the WRITE-BACK of the one before: all of this is one thread's, in program
// order, so that a task in a lane reads what the one before has written), READY, ACTIVE, WRITE-BACK (staged results are
// copied out), COMPLETE (the completion is published). FETCH and WRITE-BACK are in the entry's trampoline
// (landing.hpp); COMPLETE is run_front's, run_lone's and run_claimed's, and with run() the caller's.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/task/entry.hpp"
#include "penstock/detail/task/initiator.hpp"
#include "penstock/detail/task/local_store.hpp"
#include "penstock/detail/task/ring.hpp"
#include "penstock/detail/trace/counters.hpp"
#include "penstock/options.hpp"
#include "task/calls/open_claim.hpp"
#include "task/calls/posting.hpp"
#include "task/calls/prefetcher.hpp"
#include "task/calls/ready_queue.hpp"

namespace penstock {

struct Replay;
struct ReplayStep;
struct Verdict;
namespace loop {
class Helpers;
}

/// How much of a deque a thread claims at once.
struct ClaimSize {
    std::uint32_t most = 1, share = 1, least = 1;  ///< as PendingRing::claim() has them
    /// May it claim the same again before it has run what it has claimed?
    bool goes_on = false;

    PendingRing<TaskPayload>::Claim claim(Ring& ring) const noexcept {
        return ring.pending().claim(most, share, least);
    }
};

class Runner final : private CopyObserver {
  public:
    using Claim = PendingRing<TaskPayload>::Claim;

    /// `target`: index of the target that this runs for, or Initiator::any_target for a helping thread.
    Runner(Initiator& self, int target, std::size_t store_bytes, const MachineOptions& options) noexcept
        : self_(self), core_(self.core()), target_(target), jobs_in_flight_(options.jobs_in_flight),
          store_(store_bytes), prefetcher_(options.jobs_in_flight == 1 ? Prefetch::never : options.prefetch) {
        store_.count_in(counters_);
    }

    /// Runs one task. Whatever it throws is kept in `ring`. The caller completes the record afterwards, and then calls
    /// notify() with the notice that this returns, unless that is 0.
    std::uint32_t run(Ring& ring, TaskPayload& payload, Extension* extension, std::uint64_t number) noexcept;
    /// Runs the task at the front of a lane, completes it as soon as it has ended, and tells its initiator.
    void run_front(Ring& lane, Consumer<TaskPayload>& consumer, TaskPayload& payload) noexcept;
    /// The same for a task whose completion goes into its slot, so that nothing is fetched for those behind it, by a
    /// target that is in no task. False when somebody wants to know more of it (a sample, a timeline, a
    /// cancellation): then run_front() must run it.
    bool run_lone(Ring& lane, Consumer<TaskPayload>& consumer, TaskRecord& record) noexcept;
    /// Runs claimed tasks and completes each, but for those that others take meanwhile, or that a task of high priority
    /// goes before. `ran` counts those that it runs. `size`: how the claim was made, and whether it may go on.
    void run_claimed(Ring& ring, Claim claim, trace::Counter& ran, const ClaimSize& size = ClaimSize{}) noexcept;
    /// This thread is about to wait: what it has claimed and not begun, others may have.
    void give_back_all() noexcept;
    /// The same by another thread, `taker`'s, where this one has been in the same task for a while. Costs a
    /// process-wide barrier.
    void give_back_if_held_up(const Initiator& taker) noexcept;

    /// Runs what another target has posted.
    void run_posted(const Posting& posting, bool last) noexcept;

    /// Tells the initiator of a completed task what it asked to be told.
    [[gnu::noinline, gnu::cold]] void notify(Ring& ring, std::uint32_t notice) noexcept;

    /// Entry number of the task that runs here now (the outermost, where tasks wait inside tasks), 0 for none. Any
    /// thread.
    std::uint32_t running() const noexcept { return running_.load(std::memory_order_relaxed); }

    // ---- dependent tasks ----

    /// Runs a task that waits for nothing any more and, while completing it makes others ready, one of these after the
    /// other, whose data are warm; the rest is handed on. Returns how many it ran. `most`: then this thread looks at
    /// its lanes and deques again.
    std::uint64_t run_dependent(DependentNode& first, std::uint64_t most = 64) noexcept;
    /// Runs one that is ready anywhere in the machine, of this scope unless it is null, and what it makes ready, as
    /// above. Returns how many it ran.
    std::uint64_t run_ready(const Scope* only, std::uint64_t most = 64) noexcept;
    bool can_run_ready(const Scope* only) noexcept;
    /// Hands on what waited for tasks that could not tell, and no longer has to. Looks at `most` of these.
    void look_at_watched(std::size_t most = 64) noexcept;
    /// Heights have been measured: what is ready anywhere goes to the others whose height is known.
    void order_ready() noexcept;
    /// Runs the steps of one worker of a recording.
    void replay(Replay& replay, std::uint32_t worker) noexcept;
    /// Those that became ready here, for anybody, and those for this target alone. Any thread.
    /// A task that waits for nothing any more goes to whoever may run it.
    void hand_on(DependentNode& node) noexcept;
    ReadyQueue& ready() noexcept { return ready_; }
    ReadyQueue& named() noexcept { return named_; }
    /// A ready task that may run here and is `wanted(node)`, or null. It is nobody's else from here on. Throws what
    /// `wanted` throws; nothing is lost then.
    template <class Wanted>
    DependentNode* take_ready(Wanted&& wanted) {
        DependentNode* found = take_wanted(named_, wanted);
        if (found == nullptr) found = take_wanted(ready_, wanted);
        each_other_ready([&](ReadyQueue& queue) {
            if (found == nullptr) found = take_wanted(queue, wanted);
        });
        return found == nullptr ? take_wanted_of_known_height(wanted) : found;
    }

    /// A task that runs on this thread, innermost first. Others read it while this thread waits (circles.hpp).
    struct Running {
        Ring* ring;  ///< null: nobody can wait for it
        std::uint64_t number;
        DependentNode* node;  ///< of a dependent task
        const Running* outer;
    };
    const Running* innermost() const noexcept { return innermost_; }

    /// Fetches the arguments of the task that will run after the one that is about to.
    void prefetch(const TaskPayload& next, Extension* extension) noexcept {
        const std::uint64_t begin = self_.timeline().enabled() ? Clock::ticks() : 0;
        const auto bytes = prefetcher_.next(next, extension->bytes);
        if (bytes == 0) return;
        if (begin != 0) [[unlikely]]
            note_fetched(begin, next.entry, bytes);
        counters_.prefetched_bytes.add(bytes);
        counters_.prefetched_tasks.add();
        if (bytes == bytes_seen_) return;
        bytes_seen_ = bytes;
        fits_ = static_cast<std::uint32_t>(
            std::min<std::size_t>(store_.capacity() / bytes, MachineOptions::max_jobs_in_flight));
    }
    /// Has `ahead` ask for the arguments of those behind `payload` when its own have been copied, or at once.
    void fetch_behind(const TaskPayload& payload, FetchAhead& ahead) noexcept {
        if (entry_of(payload.entry).stages) store_.when_landed(&ahead);
        else ahead.fetch_ahead();
    }
    /// Need so many tasks of this procedure not be shown to prefetch()?
    bool passes_over(std::uint32_t entry, std::uint32_t tasks) noexcept {
        return prefetcher_.passes_over(entry, tasks);
    }
    /// The task is over. It may not have come to its body.
    void forget_behind() noexcept { store_.when_landed(nullptr); }
    /// How many tasks beyond the current one may have their data on the way: what was asked for, but no more than the
    /// local store would hold of the size seen last, and one at least.
    std::uint32_t ahead() const noexcept { return std::max(1u, std::min(jobs_in_flight_ - 1, fits_)); }
    void interrupted() noexcept { prefetcher_.interrupted(); }
    /// So many tasks of the length seen here are worth a claim of their own.
    std::uint32_t least_claimed() const noexcept { return least_claimed_; }

    /// How deep tasks wait inside tasks on this thread now; 0 outside tasks.
    std::uint32_t depth() const noexcept { return depth_; }
    /// Tasks run here since the start. The acquire makes visible what they wrote.
    std::uint64_t executed() const noexcept { return counters_.tasks.value_acquire(); }
    trace::TargetCounters& counters() noexcept { return counters_; }
    LocalStore& store() noexcept { return store_; }
    /// Of this thread's loops. Throws std::bad_alloc.
    loop::Helpers& helpers();

  private:
    class Inside;
    class ClaimAhead;

    /// Claims whose rest others can take: more than one only where tasks wait inside tasks.
    static constexpr std::uint32_t most_open_claims = 8;
    /// Nanoseconds of work that are worth a claim: it moves the line that all claimants write, and the tasks' own.
    static constexpr double worth_a_claim = 300;
    /// Nanoseconds in the same task, after which others take what is behind it.
    static constexpr double held_up_after = 50'000;
    struct Open {
        OpenClaim<Ring> claim;
        // Of those who look whether it is held up.
        std::atomic<std::uint64_t> seen{0};  ///< a task, by its number and place
        std::atomic<std::uint64_t> since{0};
    };
    OpenClaim<Ring>* open_claim(Ring& ring, Claim& claim) noexcept;
    void close_claim() noexcept;
    bool may_claim_on(Ring& ring, std::uint32_t entry) noexcept;
    void end_claim(Ring& ring, std::uint64_t first, std::uint64_t end, trace::Counter& ran) noexcept;
    void prefetch(Ring& ring, std::uint64_t number) noexcept {
        prefetch(ring.pending().record(number).payload, &ring.extensions()[ring.pending().slot(number)]);
    }
    std::uint64_t look_ahead(Ring& ring, OpenClaim<Ring>& open, std::uint64_t number, std::uint64_t& fetched,
                             std::uint64_t end) noexcept;
    void give_back(const OpenClaim<Ring>::Rest& rest) noexcept;
    bool must_give_way(const Ring& ring) const noexcept;
    /// Where this runner counts what it completes (pending.hpp).
    std::uint32_t claimant_in(const Ring& ring) const noexcept;
    template <class Wanted>
    DependentNode* take_wanted(ReadyQueue& queue, Wanted&& wanted) {
        for (auto left = queue.size(); left != 0; --left) {
            DependentNode* const node = queue.take_oldest(nullptr);
            if (node == nullptr) return nullptr;
            try {
                if (wanted(*node)) return node;
            } catch (...) {
                put_back(queue, *node);
                throw;
            }
            put_back(queue, *node);
        }
        return nullptr;
    }
    template <class Wanted>
    DependentNode* take_wanted_of_known_height(Wanted&& wanted) {
        DependentNode* found = nullptr;
        const auto all = take_all_of_known_height();
        for (auto one = all.begin(); one != all.end(); ++one) {
            try {
                if (found == nullptr && wanted(**one)) found = *one;
                else hand_on(**one);
            } catch (...) {
                for (; one != all.end(); ++one) hand_on(**one);
                throw;
            }
        }
        return found;
    }
    std::vector<DependentNode*> take_all_of_known_height();
    void put_back(ReadyQueue& queue, DependentNode& node) noexcept;
    /// A task of this ring may be taken by who has nothing else to do.
    void tell_of_ready(Ring& ring) noexcept;
    void each_other_ready(const std::function<void(ReadyQueue&)>& visit);

    std::uint32_t run_one(Ring& ring, TaskPayload& payload, Extension* extension, std::uint64_t number) noexcept;

    void run_step(Replay& replay, const ReplayStep& step, Extension& extension) noexcept;
    DependentNode* run_and_release(DependentNode& node, Running& running) noexcept;
    DependentNode* take_from_others(const Scope* only) noexcept;
    [[gnu::noinline, gnu::cold]] DependentNode* take_by_height(const Scope* only) noexcept;
    [[gnu::noinline, gnu::cold]] DependentNode* release_by_height(std::uint64_t successors,
                                                                  const Verdict* verdict) noexcept;
    DependentNode* take_several(ReadyQueue& queue) noexcept;
    [[gnu::noinline, gnu::cold]] void pass_over(Ring& ring, DependentNode& node, const Entry& entry,
                                                const PackedArguments& arguments, std::uint64_t number) noexcept;
    [[gnu::noinline, gnu::cold]] std::uint64_t start_sample(const TaskPayload& payload) noexcept;
    [[gnu::noinline, gnu::cold]] void end_sample(std::uint64_t begin, const TaskPayload& payload, std::byte* extension,
                                                 Ring& ring) noexcept;
    /// Of a task that is timed: its arguments were copied into the local store, or back.
    [[gnu::noinline, gnu::cold]] void copied(bool back, std::uint64_t begin, std::uint64_t end,
                                             std::size_t bytes) noexcept override;
    /// The arguments of a task that comes later were asked for.
    [[gnu::noinline, gnu::cold]] void note_fetched(std::uint64_t begin, std::uint32_t entry,
                                                   std::size_t bytes) noexcept;
    [[gnu::noinline, gnu::cold]] void keep_failure(Ring& ring, const Entry& entry, std::uint64_t number) noexcept;
    [[gnu::noinline, gnu::cold]] void skip(Ring& ring, const Entry& entry, const PackedArguments& arguments,
                                           std::uint64_t number) noexcept;

    Initiator& self_;
    Core& core_;
    int target_;
    std::uint32_t jobs_in_flight_;
    std::size_t bytes_seen_ = 0;                               ///< fetched ahead for the last task
    std::uint32_t fits_ = MachineOptions::max_jobs_in_flight;  ///< tasks of that size in the local store
    std::uint32_t depth_ = 0;
    std::atomic<std::uint32_t> running_{0};
    std::uint32_t until_sample_ = 1;
    std::uint32_t timed_entry_ = 0;  ///< of the task that is timed now
    std::uint64_t copy_ticks_ = 0;   ///< spent on its copies
    std::uint32_t least_claimed_ = 1;
    double task_ticks_ = 0;  ///< of the tasks that were sampled, the later ones counting more
    LocalStore store_;
    Prefetcher prefetcher_;
    trace::TargetCounters counters_;
    const Running* innermost_ = nullptr;
    std::uint32_t takes_ = 0;   ///< of ready tasks, where some are of known height
    bool looks_ahead_ = false;  ///< in claims: a task whose arguments may be worth it has run here
    ReadyQueue ready_;
    ReadyQueue named_;
    /// Whoever looks at what is held up can make its runner see that it takes it. Asked once: each asking is a barrier.
    const bool can_take_ = waiting::process_wide_barrier();
    std::atomic<std::uint32_t> open_claims_{0};
    std::array<Open, most_open_claims> open_;
    std::shared_ptr<loop::Helpers> helpers_;  ///< null until the first loop; nobody's else, of a type not known here
};

}  // namespace penstock
