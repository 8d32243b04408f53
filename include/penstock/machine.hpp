// task layer: the machine, the first thing that a program makes: targets that wait for tasks, and calls that send them
// there.
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <utility>

#include "penstock/detail/task/initiator.hpp"
#include "penstock/handle.hpp"
#include "penstock/heap.hpp"
#include "penstock/launch.hpp"
#include "penstock/options.hpp"
#include "penstock/trace.hpp"

namespace penstock {

class Machine;
namespace resident {
class State;
}

template <class How>
class MachineCalls;
using NamedTarget = MachineCalls<int>;
using CallsWith = MachineCalls<CallOptions>;
template <class Handles>
class AfterTasks;

/// Targets, each a pinned thread with a local store, and the lanes to them. Any thread may call; a running task may
/// too.
///
///     void scale(std::span<const float> x, std::span<float> y, float a);
///     penstock::Machine machine;
///     auto done = machine.call<scale>(in(x), out(y), 2.0f);   // returns at once
///     done.wait();                                            // this one, or
///     machine.barrier();                                      // all that this thread issued
///
/// The idea of turning a procedure call into a task by tagging its arguments is that of Tagged Procedure Calls (TPC,
/// for the Cell processor). Copying is not possible; destruction stops runs and finishes all tasks first.
class Machine : public TakesCalls<Machine> {
  public:
    /// A target for each processor that this process may use, but one for the caller.
    Machine() : Machine(MachineOptions{}) {}
    /// Throws UsageError for options out of range, SystemError when the system gives no more threads or memory.
    explicit Machine(const MachineOptions& options);
    /// Stops the runs that still go on (Run::stop), and finishes all tasks. Inside one of its own tasks it returns at
    /// once and the rest happens behind the task; the machine's runs must have ended then. Failures that nobody
    /// collected are named on stderr.
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // call<f>(...) and call(f, ...), of TakesCalls, issue a task that calls f with these arguments, and return at once.
    //
    // Arguments: in(x), out(x), inout(x) for memory that stays the caller's and must live until completion;
    // own(std::move(x)) for what the task takes over; scalars by value. Throws ArgumentError (null, misaligned,
    // overlapping, a stride that leaves the address space, an integer that does not fit), QueueFull where the options
    // say so. Costs the move of one cache line (beyond about four arguments two, and an allocation for what is owned)
    // and some tens of nanoseconds (`./bench null-task`).

    /// The target with this number, 0 to all_targets()-1. Nobody else will run what is sent to it. Throws UsageError.
    NamedTarget on(int target);
    /// A target of this class (MachineOptions::classes), each in turn. Throws UsageError.
    NamedTarget on(const std::string& target_class);

    /// Calls that ask for more than to be run: a priority, a call-back, a deadline... (call_options.hpp). May be kept
    /// and used again. Throws UsageError for a target that there is not or a deadline below 0.
    CallsWith with(CallOptions options);

    /// Runs the call-backs of this thread's tasks that have completed, and returns how many tasks with options have
    /// completed since it was asked last. Never blocks; does nothing inside a task or a call-back. Throws
    /// CallbackFailed.
    std::size_t poll() { return initiator().poll(); }
    /// An eventfd of this thread that becomes readable when a task issued with Notification::interrupt has completed
    /// since the last poll(): for epoll, select or asyncio, which then call poll(). It stays the machine's. Throws
    /// SystemError; UsageError inside a task.
    int notification_descriptor() { return initiator().notification_descriptor(); }
    /// What this thread has issued and no target has begun. A look at each part of its deque.
    Pending pending() { return initiator().pending(); }

    /// Calls that start when all these tasks have completed, whoever issued them and whatever kind they are of; a
    /// default handle and one whose machine is gone count as complete. The calls return at once; they are covered by
    /// barrier() and finish(). When one of the tasks fails or is cancelled, those that come after it do not run:
    /// waiting for them throws PredecessorFailed, a barrier throws the failure itself. Costs a line more than a plain
    /// call and a few reads and writes a predecessor; plain tasks and those of other threads are looked at by idle
    /// targets.
    template <class... More>
        requires(std::same_as<More, Handle> && ...)
    AfterTasks<std::array<Handle, sizeof...(More) + 1>> after(const Handle& first, const More&... more) {
        return {*this, {first, more...}, Initiator::any_target};
    }
    /// The same for a list, which must stay as it is until the call.
    AfterTasks<std::span<const Handle>> after(std::span<const Handle> tasks);

    /// Waits for everything that this thread issued (inside a task: that the task issued), running waiting tasks
    /// meanwhile. Throws TaskFailed for the first failure and counts the others.
    void barrier() {
        if (workers_ != nullptr) [[unlikely]]
            return barrier_of_all_classes();
        initiator().barrier();
    }
    /// Waits for everything that anybody issued. Throws TaskFailed for the first failure that nobody has seen yet,
    /// WouldDeadlock inside a task.
    void finish();

    /// The calling thread's own initiator, for code that must not depend on which thread it runs on.
    Initiator& initiator() {
        if (Initiator::thread_machine == id_) [[likely]]
            return *Initiator::thread_initiator;
        return find_initiator();
    }

    /// `n` zeroed elements that every target uses in place, also one in another process. Throws SystemError (ENOMEM).
    template <class T>
    SharedArray<T> array(std::size_t n) {
        return SharedArray<T>(heap(), n);
    }
    /// The shared heap, which is made when it is first asked for. Throws SystemError.
    std::shared_ptr<SharedHeap> heap();

    /// Values that stay in the memory of each target that uses them: in(machine.resident(table)). See resident.hpp.
    template <class Values>
    auto resident(const Values& values);
    /// Values that tasks on each target add to, put together by collect(). See resident.hpp.
    template <class Values>
    auto accumulator(const Values& first);

    /// Calls body(i) for each i below n, or body(Piece) for pieces of these; over a contiguous range body(element) or
    /// body(std::span<T>). The caller and all targets that are free share the pieces; body is called by several
    /// threads at once. Returns when all are done. The first failure comes as TaskFailed, which names the items;
    /// pieces that had not begun then are skipped. Inside tasks too. No piece may wait for another: they run in no
    /// promised order, perhaps all on one thread. Where a grain is given and the last two loops over this body were
    /// short (4 us), each target that is awake has its part at once, and a copy of a body of up to 24 bytes (over a
    /// range 16) that may be copied by its bytes and called as a constant: what it captures by value is there with it,
    /// what it captures by reference is fetched from the caller's stack (`./bench granularity`). See for_each.hpp.
    template <class F>
    void for_each(std::size_t n, F&& body, Grain grain = automatic_grain);
    template <class Range, class F>
        requires std::ranges::contiguous_range<Range>
    void for_each(Range&& range, F&& body, Grain grain = automatic_grain);
    /// How long it took lately from the issue of a task until another thread began it, in ticks of Clock: what for_each
    /// goes by.
    std::atomic<std::uint64_t>& hand_off_ticks() noexcept;

    /// Number of targets that plain calls go to.
    int targets() const noexcept;
    /// Those of all classes.
    int all_targets() const noexcept { return targets() + (workers_ == nullptr ? 0 : workers_->targets()); }
    /// The numbers of a class's targets. Throws UsageError when there is no such class.
    std::vector<int> targets_of(const std::string& target_class) const;
    /// As its class says; 1 without classes.
    double speed_of(int target) const noexcept;
    /// Where its classes have worker processes: these, as a machine. Null elsewhere.
    Machine* workers() const noexcept { return workers_.get(); }
    /// The processor that this target is pinned to, or -1. Throws UsageError for a target that there is not.
    int processor(int target) const;
    /// As it was made.
    const MachineOptions& options() const noexcept;
    /// The processor that each target is pinned to, or -1, and everything else worth a line in a report.
    std::string description() const;
    /// True on one of this machine's targets, and in a thread while it runs one of its tasks.
    bool in_task() const noexcept;
    /// Number of the target that the calling thread is, or -1 for any other thread (also one that runs a task while it
    /// helps).
    int current_target() const noexcept;

    /// All counters now. Subtract two snapshots to report a phase (trace.hpp).
    trace::Snapshot snapshot() const;
    /// Starts and stops the full timeline: each task with begin and end. `events` for each thread.
    void start_timeline(std::size_t events = trace::Timeline::default_capacity);
    /// Ends the recording.
    void stop_timeline();
    /// The recorded timeline as JSON for Perfetto (ui.perfetto.dev), one track a target or initiator, tasks and firings
    /// named.
    std::string timeline_json() const;
    /// For what is not a task but belongs into the timeline, such as the firings of filters. Is one recorded now? One
    /// load.
    bool timeline_recorded() const noexcept;
    /// The id that stands for a name in events of the calling program; the same name, the same id. Takes a lock.
    std::uint32_t timeline_id(const std::string& name);
    /// Puts a period of the calling thread on its track, whose number it fills in.
    void record(trace::Event event);
    /// What every waiting thread waits for, a line each.
    std::string waiting_report() const;

  private:
    friend class Core;
    friend class resident::State;
    friend class TakesCalls<Machine>;
    Initiator& find_initiator();
    template <class F, class... Args>
    Handle issue_call(F&& function, Args&&... arguments) {
        return initiator().call(std::forward<F>(function), std::forward<Args>(arguments)...);
    }

    void barrier_of_all_classes();

    std::shared_ptr<Core> core_;
    std::uint64_t id_ = 0;
    std::unique_ptr<Machine> workers_{};
    std::vector<TargetClass> classes_{};  ///< threads first
    std::atomic<unsigned> next_of_class_{0};
};

/// A machine and what calls through it ask for: a target by number, machine.on(2).call<scale>(...), or options,
/// machine.with({.priority = Priority::high}).call<scale>(...).
template <class How>
class MachineCalls : public TakesCalls<MachineCalls<How>> {
    friend class Machine;
    friend class TakesCalls<MachineCalls>;
    MachineCalls(Machine& machine, How how) : machine_(machine), how_(std::move(how)) {}
    template <class F, class... Args>
    Handle issue_call(F&& function, Args&&... arguments) {
        return machine_.initiator().call_on(how_, std::forward<F>(function), std::forward<Args>(arguments)...);
    }
    Machine& machine_;
    How how_;
};

/// Calls that start when some tasks have completed: machine.after(a, b).call<scale>(...). `Handles`: what
/// Machine::after was given.
template <class Handles>
class AfterTasks : public TakesCalls<const AfterTasks<Handles>> {
  public:
    /// The same calls, for the target with this number alone. Throws UsageError.
    AfterTasks on(int target) const {
        (void)machine_.on(target);  // refuses what is no target
        return {machine_, handles_, target};
    }

  private:
    friend class Machine;
    friend class TakesCalls<const AfterTasks>;
    AfterTasks(Machine& machine, Handles handles, int target) : machine_(machine), handles_(handles), target_(target) {}
    template <class F, class... Args>
    Handle issue_call(F&& function, Args&&... arguments) const {
        Initiator& initiator = machine_.initiator();
        const auto come_after_all = [&](Dependents::Spot& spot) {
            for (const Handle& one : handles_) initiator.dependents().come_after(spot, one);
        };
        return initiator.call_dependent(nullptr, target_, come_after_all, std::forward<F>(function),
                                        std::forward<Args>(arguments)...);
    }
    Machine& machine_;
    Handles handles_;
    int target_;
};

inline AfterTasks<std::span<const Handle>> Machine::after(std::span<const Handle> tasks) {
    return {*this, tasks, Initiator::any_target};
}

}  // namespace penstock
