// One task whose body is a Python function, as the process that issued it sees it.
#pragma once

#include "process/children.hpp"
#include "python/calls/array_argument.hpp"
#include "python/calls/task_heap.hpp"

namespace penstock::python {

struct PythonTask;

/// A function that was carried over, or is about to be. `callable` is touched with the interpreter's lock, the rest
/// under the pool's.
struct CarriedFunction : std::enable_shared_from_this<CarriedFunction> {
    nb::object callable;  ///< moved out before the last reference goes, for that may go without the interpreter's lock
    std::shared_ptr<TaskHeap> heap;
    std::string name;
    std::uint32_t place = 0;
    std::uint64_t serial = 0;
    Block code;
    std::size_t code_bytes = 0;
    std::size_t outstanding = 0;
    std::size_t largest_result = 0;  ///< of late: so much room the next call gets

    CarriedFunction() = default;
    CarriedFunction(const CarriedFunction&) = delete;
    CarriedFunction& operator=(const CarriedFunction&) = delete;
    ~CarriedFunction() {
        if (heap != nullptr) heap->free(code);
    }
};

/// A thread that issues, with what its barrier covers. Under the pool's lock, but for the count, which anybody may look
/// at.
struct Issuer {
    std::atomic<std::size_t> outstanding{0};
    std::vector<std::shared_ptr<PythonTask>> failures;  ///< to be told by a barrier, unless somebody is told before
    std::size_t most_failures = 64;                     ///< so many, and those that were told of are forgotten
};

/// Results to be copied back into memory that is not the heap's.
struct CopyBack {
    const ArrayArgument* array;  ///< held by the task's arguments
    const std::byte* from;
};

struct PythonTask {
    static constexpr std::uint32_t no_slot = ~0u;

    // Written when it is issued.
    std::uint64_t number = 0;
    std::shared_ptr<TaskHeap> heap;
    std::shared_ptr<CarriedFunction> function;
    std::shared_ptr<Issuer> issuer;
    Block room;                 ///< for its packed arguments and then its result, where a slot is too small for them
    std::vector<Block> blocks;  ///< of arrays that were copied; back to the heap when it has ended
    std::vector<Block> values;  ///< the same, of arrays that are not tagged: a worker may keep them for longer
    std::vector<CopyBack> copies;
    /// What it waits for; empty once it does not any more. Under the pool's lock
    std::vector<std::shared_ptr<PythonTask>> after;
    std::shared_ptr<PythonTask> failed_predecessor;
    std::uint64_t limit = 0;
    int target = -1;
    std::uint32_t level = 1;

    std::atomic<std::uint32_t> slot{no_slot};  ///< no_slot: it waits for one, or has left its own

    // Written under the pool's lock when it settles, before `settled`.
    std::atomic<bool> settled{false};
    Outcome outcome = Outcome::nothing;
    int worker = -1;
    process::Death death;  ///< of its worker, where that ended before it
    Block result_block;
    std::string raw;  ///< the result, where it is short
    std::size_t result_size = 0;

    std::atomic<bool> delivered{false};  ///< its failure was raised somewhere

    // Touched with the interpreter's lock only.
    bool finished = false;  ///< copies are made, arguments let go
    nb::object arguments;
    nb::object result;  ///< once asked for: the value, or the exception
    int readers = 0;    ///< threads that make it of the bytes: these go with the last
    std::vector<nb::object> callbacks;

    ~PythonTask() {
        if (heap != nullptr) give_back();
    }
    void give_back() noexcept {
        heap->free(std::exchange(room, {}));
        heap->free(std::exchange(result_block, {}));
        for (Block& block : blocks) heap->free(std::exchange(block, {}));
        for (Block& block : values) heap->free(std::exchange(block, {}));
    }

    bool failed() const noexcept { return outcome != Outcome::nothing && outcome != Outcome::value; }
};

using TaskPointer = std::shared_ptr<PythonTask>;

/// The exception of a Python body, where exceptions of C++ travel. Its cause is made when it becomes Python's.
struct BodyFailed : Error {
    BodyFailed(const std::string& what, TaskPointer failed) : Error(what), task(std::move(failed)) {}
    TaskPointer task;
};

/// What the body returned. The task has finished and did not fail.
nb::object result_of(PythonTask& task);
/// The exception that ended it: the body's own, WorkerDied, TimeLimitExceeded, TaskCancelled or Error. With the
/// interpreter's lock.
nb::object exception_of(PythonTask& task);
/// Throws TaskFailed or TaskCancelled where the task failed or was cancelled; from now on a barrier need not.
void throw_failure(const TaskPointer& task);
/// Throws one TaskFailed for all, where there are any: for the first of the task layer, or else the first of these.
void throw_failures(const std::optional<TaskFailed>& first, const std::vector<TaskPointer>& failed);

}  // namespace penstock::python
