// A machine's Python workers, from the side of the process that issues.
//
// Threads with the interpreter's lock issue, wait and finish; the keeper's thread, without it, feeds slots and tells of
// deaths. What both touch is under the pool's lock, which is held for short and never while Python code may run. A task
// goes through
//   waiting   for a slot, where all are taken
//   in a slot claimed by a worker, done
//   settled   its outcome lies here, its slot is free (any thread, under the pool's lock)
//   finished  what it held of Python is let go, results are copied back (a thread with the interpreter's lock)
#pragma once

#include <deque>
#include <unordered_map>

#include "penstock/options.hpp"
#include "python/calls/python_task.hpp"
#include "python/workers/value_codec.hpp"
#include "python/workers/worker_keeper.hpp"

namespace penstock::python {

/// What one call asks for beside function and arguments.
struct TaskWishes {
    int target = TaskBoard::everybody;
    bool urgent = false;
    std::vector<TaskPointer> after{};   ///< tasks of this machine that must have completed before it may start
    std::chrono::nanoseconds limit{0};  ///< 0: none
};

class WorkerPool {
  public:
    /// `workers` of them, started by `command`; the options are the machine's.
    WorkerPool(std::uint32_t workers, const MachineOptions& options, std::shared_ptr<TaskHeap> heap,
               WorkerCommand command);
    /// Ends the workers. Without the interpreter's lock; nothing may be outstanding.
    ~WorkerPool();

    // ---- with the interpreter's lock. In a child of fork all throw MachineGone, but for cancel(): false, and ready():
    // true ----

    /// Issues one task. `names`: a tuple of the names of the last arguments, or nothing. Throws what pickling raises,
    /// ArgumentError, QueueFull, SystemError, Error when no worker can be started. May wait for room where the options
    /// say so.
    TaskPointer issue(nb::handle function, const nb::tuple& arguments, nb::handle names, const TaskWishes& wishes);
    /// Waits until it has completed; handles signals meanwhile. Raises KeyboardInterrupt.
    void wait(const TaskPointer& task) { wait_for(task, std::chrono::nanoseconds::max()); }
    /// The same for at most so long. False when it has not completed.
    bool wait_for(const TaskPointer& task, std::chrono::nanoseconds longest);
    /// Has it completed? Finishes it if so.
    bool ready(const TaskPointer& task);
    /// False when it has started already.
    bool cancel(const TaskPointer& task);
    /// Waits for all that this thread issued, or for all of everybody. Returns what failed since, to be told.
    std::vector<TaskPointer> barrier();
    std::vector<TaskPointer> finish();
    /// Finishes what has completed and runs call-backs that are due. Cheap when there is nothing.
    void poll();
    /// A descriptor that becomes readable when something completes after arm().
    int notice() const {
        refuse_child();
        return keeper_->notice();
    }
    /// Clears the notice, polls, and asks to be told of the next completion.
    void rearm();
    /// Calls `callback()` by the thread that finishes the task. At once where it is finished.
    void when_done(const TaskPointer& task, nb::object callback);

    /// Ends the workers at once, and with them whatever has not completed.
    void abandon() {
        if (!forked()) keeper_->abandon();
    }

    /// Waits until something completes that has not been seen yet, or so long.
    void wait_for_any(std::chrono::nanoseconds longest);
    bool knows(nb::handle function) const { return known_.contains(function.ptr()); }

    std::size_t outstanding() const noexcept { return outstanding_.load(std::memory_order_acquire); }
    std::vector<int> pids() const {
        refuse_child();
        return keeper_->pids();
    }

    // ---- the keeper's thread, without the interpreter's lock ----

    /// A worker has ended: gives its task up.
    void died(const process::Death& death);
    /// Workers do not start.
    void hopeless(std::string why);
    /// For a result; keeps the block in mind.
    Block room(std::uint32_t worker, std::size_t bytes);
    /// Moves waiting tasks into slots. True when more wait.
    bool advance_waiting();
    /// Are there tasks with a time limit?
    bool limits() const noexcept { return limited_.load(std::memory_order_acquire) != 0; }

  private:
    // In worker_pool.cpp: with the interpreter's lock, without the pool's.
    std::shared_ptr<CarriedFunction> carried(nb::handle function);
    std::vector<nb::object> forget_functions();
    void pack(ByteWriter& writer, PythonTask& task, const nb::tuple& arguments, nb::handle names);
    void place_array(ByteWriter& writer, PythonTask& task, const ArrayArgument& array);
    bool place_buffer(ByteWriter& writer, PythonTask& task, const std::byte* data, std::size_t size);
    void finish_settled();
    void finish(PythonTask& task);
    void run_due();
    std::shared_ptr<Issuer> issuer_of_this_thread();
    void take_failures(Issuer& issuer, std::vector<TaskPointer>& failed);
    void await_all(const std::atomic<std::size_t>& outstanding);
    bool forked() const noexcept { return origin_.left_behind(); }
    void refuse_child() const { origin_.require("this machine"); }
    template <class Done>
    bool wait_until(Done&& done, std::chrono::nanoseconds longest);

    // In task_settling.cpp: under the pool's lock.
    bool place(const TaskPointer& task, const std::byte* packed, std::size_t size);
    bool may_have_room();
    void put_into_slot(const TaskPointer& task, const std::byte* packed, std::size_t size);
    bool advance();
    void tell();
    bool has_free_slot() const noexcept {
        return !free_slots_.empty() && TaskBoard::slots - free_slots_.size() < most_in_slots_;
    }
    ClaimRing<TaskBoard> ring_for(const PythonTask& task) const noexcept;
    enum class Predecessors { under_way, complete, failed };
    Predecessors look_at_predecessors(PythonTask& task);
    void drain();
    void settle(std::uint32_t slot);
    void settle_as(const TaskPointer& task, Outcome outcome);
    void keep_failure(const TaskPointer& task);
    void take_result(PythonTask& task, const TaskSlot& slot, std::uint32_t worker);
    void take_releases(std::uint32_t worker, std::uint64_t released);
    void place_function(CarriedFunction& function);
    bool slot_done(const PythonTask& task) const noexcept;
    bool something_completed() const noexcept;

    const Origin origin_{};
    MachineOptions options_;
    std::shared_ptr<TaskHeap> heap_;
    TaskBoard board_;
    std::size_t most_in_slots_;

    mutable std::mutex mutex_;
    std::uint64_t last_number_ = 0;
    std::vector<std::uint32_t> free_slots_;
    std::vector<TaskPointer> in_slots_;
    struct Waiting {
        TaskPointer task;
        std::vector<std::byte> packed;
    };
    std::deque<Waiting> waiting_[BoardHeader::levels];
    std::vector<TaskPointer> settled_;  ///< to be finished
    /// To be let go with the interpreter's lock: what is over, failures that were told
    std::vector<TaskPointer> forgotten_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> drained_;  ///< for each worker: completions seen
    std::vector<Block> granted_;                             ///< for each worker: room it was given last
    /// For each worker, by the task's number: blocks that something there still uses, a body's cache for instance.
    std::vector<std::unordered_map<std::uint64_t, std::vector<Block>>> kept_;
    std::vector<std::shared_ptr<CarriedFunction>> placed_;
    std::vector<std::uint32_t> free_places_;  ///< of functions that were forgotten
    std::uint32_t hand_ = 0;
    std::uint64_t last_serial_ = 0;
    std::size_t settled_since_drain_ = 0;
    std::string hopeless_;
    std::atomic<std::size_t> outstanding_{0};
    std::atomic<std::size_t> limited_{0};
    std::atomic<std::size_t> unfinished_{0};  ///< how many are in settled_
    std::atomic<std::size_t> waiting_count_{0};

    // With the interpreter's lock.
    std::unordered_map<PyObject*, std::shared_ptr<CarriedFunction>> known_;
    std::size_t known_bytes_ = 0;
    std::unordered_map<std::uint64_t, std::shared_ptr<Issuer>> issuers_;  ///< by number of the thread
    std::vector<nb::object> due_;
    std::size_t issued_ = 0;

    std::unique_ptr<WorkerKeeper> keeper_;
};

}  // namespace penstock::python
