// task layer: whoever issues tasks. One for each thread and machine, made at the thread's first call; each target has
// one too.
//
// The hot path is the story of one task: check the arguments, reserve a record, pack, publish. Where the record lies:
//   in a lane     every task for a named target, and all tasks under TPC's distributions (round_robin, least_loaded); a
//                 lone task, as long as an empty lane says that its target is idle: the line that the target polls
//                 (floor F1)
//   in the deque  everything else: idle targets claim it, and so does this thread while it helps at a barrier
//   nowhere       a machine without targets, and a call inside a task that fits nowhere, run the task at once
// `./bench null-task` prints what each way costs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "penstock/call_options.hpp"
#include "penstock/detail/machine/exchanged.hpp"
#include "penstock/detail/machine/waiter.hpp"
#include "penstock/detail/task/carrier.hpp"
#include "penstock/detail/task/dependents.hpp"
#include "penstock/detail/task/deque.hpp"
#include "penstock/detail/task/lanes.hpp"
#include "penstock/detail/task/procedure.hpp"
#include "penstock/detail/task/ring.hpp"
#include "penstock/detail/task/scope.hpp"
#include "penstock/detail/trace/counters.hpp"
#include "penstock/detail/trace/timeline.hpp"
#include "penstock/handle.hpp"
#include "penstock/options.hpp"

namespace penstock {

struct AwaitedTasks;
class Core;
class Notices;
class Runner;
template <class... P>
class Chain;  // chain.hpp

template <class F>
inline constexpr bool is_chain = false;
template <class... P>
inline constexpr bool is_chain<Chain<P...>> = true;

/// The two ways to call, which all that takes calls has: x.call<f>(...) of a function that is part of the type, which
/// gives the task its name, and x.call(f, ...) of a pointer or a closure. A closure that does not fit a descriptor must
/// be boxed by name: boxed(f). `Self` is who takes them, and has issue_call(f, ...).
///
/// An overloaded function cannot be named by itself: compilers then say that they cannot tell the parameter
/// `function_that_is_not_overloaded`. Write which one, call<static_cast<void (*)(std::span<float>)>(f)>(...), or call a
/// closure that calls it.
template <class Self>
class TakesCalls {
  public:
    template <auto function_that_is_not_overloaded, class... Args>
    Handle call(Args&&... arguments) {
        return static_cast<Self&>(*this).issue_call(procedure::Constant<function_that_is_not_overloaded>{},
                                                    std::forward<Args>(arguments)...);
    }
    template <class F, class... Args>
    Handle call(F&& function, Args&&... arguments) {
        return static_cast<Self&>(*this).issue_call(std::forward<F>(function), std::forward<Args>(arguments)...);
    }
    template <auto function_that_is_not_overloaded, class... Args>
        requires std::is_const_v<Self>
    Handle call(Args&&... arguments) const {
        return static_cast<Self&>(*this).issue_call(procedure::Constant<function_that_is_not_overloaded>{},
                                                    std::forward<Args>(arguments)...);
    }
    template <class F, class... Args>
        requires std::is_const_v<Self>
    Handle call(F&& function, Args&&... arguments) const {
        return static_cast<Self&>(*this).issue_call(std::forward<F>(function), std::forward<Args>(arguments)...);
    }
};

class alignas(128) Initiator : public TakesCalls<Initiator> {
  public:
    static constexpr int any_target = Ring::any_target;

    /// `waiter`: the target's own, or null for a thread, which gets one.
    Initiator(Core& core, int target, Waiter* waiter);
    ~Initiator();
    /// In the child after a fork: nothing of the parent's machines can be used here.
    static void leave_behind_in_parent() noexcept;
    Initiator(const Initiator&) = delete;
    Initiator& operator=(const Initiator&) = delete;

    /// Issues a call; see Machine. `how`: the number of a target, any_target, or CallOptions.
    template <class How, class F, class... Args>
    Handle call_on(const How& how, F&& function, Args&&... arguments) {
        if constexpr (is_chain<std::decay_t<F>>) {
            return function.issue(*this, how, std::forward<Args>(arguments)...);
        } else {
            using Site = procedure::SiteOf<F, Args...>;
            return issue<Site>(how, Site::unpack(std::decay_t<F>(std::forward<F>(function))),
                               std::index_sequence_for<Args...>{}, std::forward<Args>(arguments)...);
        }
    }
    /// Issues a dependent call, at the thread's own speed: it never waits for what comes before. `group`: where the
    /// task is kept, or null for the scope's own. `predecessors(spot)` names what it comes after.
    template <class Predecessors, class F, class... Args>
    Handle call_dependent(DependentGroup* group, int target, Predecessors&& predecessors, F&& function,
                          Args&&... arguments) {
        using Site = procedure::SiteOf<F, Args...>;
        return issue_dependent<Site>(group, target, predecessors,
                                     Site::unpack(std::decay_t<F>(std::forward<F>(function))),
                                     std::index_sequence_for<Args...>{}, std::forward<Args>(arguments)...);
    }

    /// See Machine::barrier.
    void barrier();
    /// See Machine::poll.
    std::size_t poll();
    /// See Machine::notification_descriptor.
    int notification_descriptor();
    /// See Machine::pending.
    Pending pending() const;

    /// Bytes of the local store of each of the machine's targets.
    std::size_t local_store_bytes() const noexcept { return local_store_bytes_; }
    /// The target that this is, or any_target for a thread.
    int target() const noexcept { return target_; }
    std::uint64_t machine_id() const noexcept { return machine_id_; }

    // ---- for the rest of the layer: whose it is ----

    // The calling thread's initiator of the machine that it used last, by the machine's id. Ids are never used twice.
    static inline thread_local constinit std::uint64_t thread_machine = 0;
    static inline thread_local constinit Initiator* thread_initiator = nullptr;
    /// Of this machine, by its id; null where the thread has none.
    static Initiator* of_this_thread(std::uint64_t machine) noexcept;
    void bind_to_this_thread();
    /// Is it used by several threads, under a lock?
    bool shared() const noexcept { return shared_; }
    /// Holds that lock, where there is one.
    [[nodiscard]] std::unique_lock<std::recursive_mutex> alone() const {
        return shared_ ? std::unique_lock(sharing_) : std::unique_lock<std::recursive_mutex>();
    }

    // ---- what it consists of ----

    Core& core() const noexcept { return core_; }
    Runner& runner() const noexcept { return *runner_; }
    Waiter& waiter() const noexcept { return waiter_; }
    Deque& deque() noexcept { return deque_; }
    Dependents& dependents() noexcept { return dependents_; }
    trace::InitiatorCounters& counters() noexcept { return counters_; }
    trace::Timeline& timeline() noexcept { return timeline_; }
    /// Number of its track in the timeline.
    std::uint32_t track() const noexcept { return track_; }
    std::uint64_t started() const noexcept { return started_; }
    int target_count() const noexcept { return lanes_.count(); }
    /// Null until the first call that needs them.
    Notices* notices() noexcept { return notices_.get(); }
    const Lanes& lanes() const noexcept { return lanes_; }

    // ---- scopes ----

    /// What is issued now belongs to it. Made where a task issues for the first time. Throws NestingTooDeep,
    /// MachineGone, std::bad_alloc.
    Scope& scope();
    /// The same, null where none has been made.
    Scope* current_scope() const noexcept { return scope_; }
    bool in_task() const noexcept;
    bool helps() const noexcept { return helps_; }
    void require_room_to_nest() const;
    /// What a thread is in the middle of issuing while it runs a task inside a call or a wait.
    struct Interrupted {
        Scope* scope;
        Ring* stream;
        const CallOptions* asked;
    };
    /// The thread begins to run a task, which asks of its calls what all calls of the machine ask for.
    Interrupted enter_task(const CallOptions* standing) noexcept {
        const Interrupted outer{std::exchange(scope_, nullptr), stream_, std::exchange(asked_, standing)};
        if (stream_ != nullptr) stream_ = nullptr;  // always null where several threads share an initiator
        return outer;
    }
    void leave_task(const Interrupted& outer) noexcept {
        scope_ = outer.scope;
        asked_ = outer.asked;
        if (outer.stream != nullptr) stream_ = outer.stream;
    }
    /// A task has ended: what it issued goes on without it.
    void leave_scope() noexcept {
        if (scope_ != nullptr) [[unlikely]]
            end_scope();
    }
    /// Scopes whose tasks have all ended are free again.
    void reap_orphans() noexcept;

    // ---- waiting ----

    bool complete(const Handle& handle, Ring& ring) noexcept;
    void wait_for(const Handle& handle, Ring& ring, bool helping);
    void wait_while_helping(const std::function<bool()>& ready, const AwaitedTasks& awaited);
    void wait_for_dependents(const std::vector<Ring*>& rings);
    static void throw_failure_of(const Handle& handle, Ring& ring);
    /// For as long as what it returns lives, no call-back runs.
    [[nodiscard]] Exchanged<bool> no_callbacks() noexcept { return {polling_, true}; }
    /// For as long as what it returns lives, lone calls go by the deque: targets have pieces of this thread's loop to
    /// run, although the lanes of its calls are empty.
    [[nodiscard]] Exchanged<bool> no_lone_calls() noexcept {
        static thread_local bool of_a_shared_one = false;  // which has no lone calls
        return {shared_ ? of_a_shared_one : loops_, true};
    }
    /// A dependent task was issued: it posts nothing into the mailbox, and any target may run it.
    void count_dependent_call() noexcept {
        unnoticed_ = true;
        deque_idle_ = false;
        counters_.calls.add();
    }

  private:
    friend class Core;  // which makes it, shares it, and takes it back
    friend class TakesCalls<Initiator>;

    /// Where a task is about to be written.
    struct Spot {
        TaskRecord* record = nullptr;  ///< null: nowhere, so it runs at once
        LaneEnd* lane = nullptr;       ///< null: the record lies in a part of the deque
        Ring* ring = nullptr;
    };

    template <class F, class... Args>
    Handle issue_call(F&& function, Args&&... arguments) {
        return call_on(any_target, std::forward<F>(function), std::forward<Args>(arguments)...);
    }
    template <class Site, class F, std::size_t... I, class... Args>
    Handle issue(int target, F&& function, std::index_sequence<I...>, Args&&... arguments);
    /// The same for a call that asks for more.
    template <class Site, class F, std::size_t... I, class... Args>
    Handle issue(const CallOptions& options, F&& function, std::index_sequence<I...>, Args&&... arguments);

    template <class Site, class Predecessors, class F, std::size_t... I, class... Args>
    Handle issue_dependent(DependentGroup* group, int target, Predecessors&& predecessors, F&& function,
                           std::index_sequence<I...>, Args&&... arguments);
    template <class Pack, class Predecessors, class... Stored>
    Handle place_dependent(std::uint32_t entry, DependentGroup* group, int target, Predecessors& predecessors,
                           Stored&&... stored);

    /// Packs the arguments where the task will be found, and publishes. What is rare stands in place_elsewhere.
    template <class Pack, class... Stored>
    [[gnu::always_inline]] Handle place(std::uint32_t entry, int target, Stored&&... stored);

    /// Resident arguments are begun here, with the version that is current now, and ended by the task. `asks`: the call
    /// has options.
    template <class Call, bool asks, class... Bound>
    [[gnu::always_inline]] Handle place_bound(std::uint32_t entry, int target, Bound&&... bound);

    /// Boxes, named targets, full deques, other distributions, shared initiators, tasks that run at once, calls with
    /// options.
    template <class Pack, class... Stored>
    [[gnu::noinline]] Handle place_elsewhere(std::uint32_t entry, int target, Stored&&... stored);

    Handle publish_deferred(Ring& part) noexcept {
        deque_idle_ = false;
        if (direct_ && scope_ == &base_ && &part == base_.current) stream_ = &part;
        return publish_in_deque(part);
    }

    /// The same where the task is carried to another place. Throws CannotCarryOver for what cannot be there.
    template <class Pack, class... Stored>
    Handle place_offloaded(std::uint32_t entry, int target, Stored&... stored);

    template <class Pack, class... Stored>
    [[gnu::noinline]] Handle place_nowhere(std::uint32_t entry, std::uint32_t notice, typename Pack::Box* box,
                                           const Stored&... stored);

    template <class Pack, class... Stored>
    void fill(std::uint32_t entry, TaskRecord& record, Ring& ring, const Stored&... stored) noexcept;
    template <class Pack>
    static void fill_box(std::uint32_t entry, TaskPayload& payload, typename Pack::Box* box) noexcept;

    /// Of a call that stays in this process, before the record is filled: between that and publish_in_lane() the
    /// target, which polls the line, would take it away again. Always before it is published, so that no more tasks are
    /// ever seen to have been executed than called.
    void count_in_lane() noexcept {
        counters_.calls.add();
        counters_.committed.add();
    }
    Handle publish_in_lane(LaneEnd& lane) noexcept {
        const Ticket ticket = lanes_.publish(lane);
        const Handle handle{lane.ring->index(), lane.ring->generation(), ticket};
        scope_->last[lanes_.number_of(lane)] = handle.word_;
        wake_at(*lane.bell);
        return handle;
    }

    Handle publish_in_deque(Ring& part) noexcept {
        counters_.calls.add();
        const std::uint64_t number = part.pending().append();
        if (board_.idle_targets.load(std::memory_order_relaxed) != 0) [[unlikely]]
            wake_a_target(part);
        return Handle(part.name(), {number, 0, false});
    }

    /// A lane whose target has nothing to do, or null. Where that cannot be told from here, the deque takes the task:
    /// any target that is free claims it there.
    LaneEnd* idle_lane() {
        if (!lane_again() || board_.mixed.load(std::memory_order_relaxed) != 0) return nullptr;
        return lanes_.idle([this](int target) { make_lane(target); });
    }

    /// The lane to this target, where nothing that was issued before waits; else null.
    LaneEnd* empty_lane(int target) noexcept {
        LaneEnd& lane = lanes_[target];
        return lane.ring != nullptr && lane.producer.known_empty() && lane.calls_past == 0 ? &lane : nullptr;
    }
    /// The tasks of a stream that has only begun are back, so that the next one is a lone one.
    bool lane_again() const noexcept { return deque_idle_ && !loops_ && lanes_.some_idle(); }

    // ---- cold, in src/task ----
    std::uint64_t start_sample() noexcept;
    void end_sample(std::uint64_t begin) noexcept;
    void make_lane(int target);
    /// Finds a record, or none. Throws QueueFull where the user chose that.
    Spot reserve(int target);
    Spot reserve_in_lane(int target);
    Spot reserve_in_deque(int target, bool urgent = false);
    bool waits_in_deque(int only_target);
    Ring* ring_with_room(Scope& scope, int only_target, bool urgent) noexcept;
    bool may_grow(const Scope& scope, int only_target, bool urgent) const noexcept;
    /// The target that a call with options goes to. `home`: first byte of the argument whose place it follows, or null.
    int route(const CallOptions& options, const void* home);
    std::uint32_t add_notice(std::uint32_t entry);
    void note_issued(std::uint32_t notice, const Handle& handle) noexcept;
    std::size_t run_callbacks();
    bool callbacks_due() const noexcept;
    bool notices_left(const Scope& scope) const noexcept;
    bool waits_for_mail() const noexcept;
    // ---- tasks that are carried to another place, in src/task/backend/backend.cpp ----
    /// What the call asks for beyond being run, as flags of its descriptor. Throws CannotCarryOver.
    std::uint32_t accept_offloaded(std::uint32_t entry);
    /// `staged`: what belongs to the task, or null. Taken where the ring keeps it.
    Spot reserve_offloaded(int target, std::unique_ptr<isolated::StagedTask>& staged);
    Handle publish_offloaded(const Spot& spot, std::unique_ptr<isolated::StagedTask> staged);
    Handle run_at_once(TaskPayload& payload, Extension& extension);
    void wake_a_target(const Ring& ring) noexcept;
    void end_scope() noexcept;
    void leave_behind() noexcept;
    /// Throws MachineGone in the child after a fork.
    void require_here() const;
    Ring* add_ring(Scope& scope, int only_target, bool urgent);
    void close_urgent_rings(Scope& scope) noexcept;
    bool drained(Scope& scope) noexcept;
    /// Of the base scope, in deques and dependent ones.
    bool deferred_are_done() noexcept;
    bool can_help(const Scope* scope) const noexcept;
    bool help(Scope* scope, std::uint32_t most);
    void collect_failures(Scope& scope, std::vector<Failure>& failures);
    bool clean(const Scope& scope) const noexcept;
    void recycle(Scope& scope) noexcept;
    template <class Poll>
    void wait_until(Poll&& poll, WaitReason reason);
    template <class Poll>
    void wait_watched(Waiter& waiter, Poll&& poll, WaitReason reason);
    template <class Poll>
    void wait_watched(Poll&& poll, WaitReason reason);
    template <class Poll>
    std::chrono::microseconds wait_a_while(Poll&& poll, std::chrono::microseconds limit, WaitReason reason);
    void wait_for_all(WaitReason reason);
    void wait_for_room(const std::function<bool()>& found, WaitReason reason);
    void look_for_held_up(std::uint32_t looks) const noexcept;

    // The hot line and the next.
    Lanes lanes_;
    std::atomic<std::uint32_t> until_sample_{1};
    bool deque_idle_ = true;  ///< nothing that the base scope deferred is outstanding, as far as is known
    bool direct_ = true;      ///< balanced, and used by one thread: unnamed tasks take the short way
    bool shared_ = false;     ///< used by several threads, under sharing_
    bool loops_ = false;      ///< it is inside a loop that targets help with
    Scope* scope_ = nullptr;  ///< of the running task; null until it issues something
    Ring* stream_ = nullptr;  ///< the part of the deque that takes all unnamed tasks for now; null: look where they go
    MachineBoard& board_;
    Core& core_;
    trace::InitiatorCounters counters_;

    // The rest: this thread's own.
    alignas(128) Scope base_;
    int target_;                           ///< index of the target that this is, or any_target for a thread
    const isolated::CallSide* call_side_;  ///< where tasks are carried to; null where threads of this process run them
    bool helps_;                           ///< may run tasks that wait while it waits itself
    std::unique_ptr<Waiter> own_waiter_;
    Waiter& waiter_;
    std::unique_ptr<Runner> runner_;
    /// What the call being issued asks for; outside calls what all of them ask for, or null
    const CallOptions* asked_ = nullptr;
    std::unique_ptr<Notices> notices_;  ///< null until the first call that needs one
    bool polling_ = false;              ///< a call-back runs
    bool unnoticed_ = false;            ///< a task without a notice may be outstanding
    struct AffineBlock {
        const void* block = nullptr;
        int target = any_target;
    };
    std::unique_ptr<AffineBlock[]> affine_;  ///< by a hash of the block's address; null until the first affine call
    Scopes scopes_;
    Ring* immediate_ = nullptr;
    std::uint64_t immediate_runs_ = 0;
    bool sample_spoilt_ = false;
    std::uint64_t issued_ = 0;  ///< while a timeline is on: when the call began that is being made
    mutable std::recursive_mutex sharing_;
    std::atomic<bool> waiting_{false};  ///< its thread is inside a barrier or a wait
    bool abandoned_ = false;            ///< its thread has ended (under the machine's lock)
    bool left_behind_ = false;          ///< this is the child of a fork, and its targets stayed with the parent
    std::uint64_t started_ = 0;
    std::uint32_t track_ = 0;
    std::size_t local_store_bytes_;
    std::uint64_t machine_id_;
    trace::Timeline timeline_;
    // Last, so that all else is still there when their rings go, with what tasks and failures kept.
    Deque deque_;  ///< what claimants look at
    Dependents dependents_;
};

}  // namespace penstock

#include "penstock/detail/task/issue.hpp"  // the templates that were only declared here
