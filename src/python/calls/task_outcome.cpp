#include "python/calls/python_task.hpp"
#include "python/errors.hpp"
#include "python/workers/value_codec.hpp"

namespace penstock::python {
namespace {

std::pair<const std::byte*, std::size_t> bytes_of(const PythonTask& task) noexcept {
    if (task.result_block.bytes != 0) return {task.result_block.data, task.result_size};
    return {reinterpret_cast<const std::byte*>(task.raw.data()), task.raw.size()};
}

/// Makes the result of the task's bytes. Python code may run, so another thread may do the same meanwhile: the first
/// result stays, and the bytes go when nobody reads them any more.
template <class Make>
void make_result(PythonTask& task, Make&& make) {
    ++task.readers;
    const AtEnd end{[&] {
        if (--task.readers != 0 || !task.result.is_valid()) return;
        if (task.heap != nullptr) task.heap->free(std::exchange(task.result_block, {}));
        task.raw = {};
    }};
    nb::object result = make();
    if (!task.result.is_valid()) task.result = std::move(result);
}

std::string how_it_died(const process::Death& death) {
    return death.signal      ? "by signal " + std::to_string(*death.signal)
           : death.exit_code ? "with exit code " + std::to_string(*death.exit_code)
                             : "in a way that the system did not tell";
}

nb::object death_of(const PythonTask& task) {
    const bool late = task.outcome == Outcome::time_limit;
    const std::string worker = "its worker (process " + std::to_string(task.death.pid) + ")";
    const double limit = static_cast<double>(task.limit) * 1e-9;
    const std::string text = late ? "it ran longer than its time limit of " +
                                        nb::cast<std::string>(nb::str(nb::float_(limit))) + " s, and " + worker +
                                        " was ended"
                                  : worker + " died " + how_it_died(task.death);
    nb::object error = error_object(late ? "TimeLimitExceeded" : "WorkerDied", text, "task", task.function->name,
                                    "target", task.worker, "pid", task.death.pid, "exit_code", task.death.exit_code,
                                    "signal", task.death.signal);
    if (late) error.attr("limit") = limit;
    return error;
}

std::string cancelled(const PythonTask& task) {
    return "task " + task.function->name + " was cancelled before it started";
}

nb::object made_exception(PythonTask& task) {
    switch (task.outcome) {
        case Outcome::raised: {
            const auto [bytes, size] = bytes_of(task);
            return imported("penstock.interpreters", "rebuilt_failure")(nb::bytes(bytes, size));
        }
        case Outcome::died:
        case Outcome::time_limit:
            return death_of(task);
        case Outcome::cancelled:
            return error_object("TaskCancelled", cancelled(task));
        case Outcome::predecessor: {
            const std::string& before = task.failed_predecessor->function->name;
            return error_object("PredecessorFailed",
                                "task " + task.function->name + " did not run: task " + before +
                                    ", which it comes after, failed or was cancelled",
                                "predecessor", before, "__cause__", exception_of(*task.failed_predecessor));
        }
        default:
            return error_object(
                "Error", "the outcome of task " + task.function->name +
                             " is lost: Ctrl-C ended its worker, none could be started, or something overwrote it");
    }
}

TaskFailed failure_of(const TaskPointer& task, std::size_t others) {
    task->delivered = true;
    const BodyFailed cause(described_exception(exception_of(*task)), task);
    return {task->function->name, task->worker, std::make_exception_ptr(cause), others};
}

}  // namespace

nb::object result_of(PythonTask& task) {
    if (!task.result.is_valid()) {
        if (task.outcome == Outcome::nothing) {
            task.result = nb::none();
        } else {
            make_result(task, [&] {
                const auto [bytes, size] = bytes_of(task);
                ByteReader reader(bytes, size);
                return read_value(reader);
            });
        }
    }
    return task.result;
}

nb::object exception_of(PythonTask& task) {
    if (!task.result.is_valid()) make_result(task, [&] { return made_exception(task); });
    return task.result;
}

void throw_failure(const TaskPointer& task) {
    if (!task->failed()) return;
    if (task->outcome == Outcome::cancelled) throw TaskCancelled(cancelled(*task));
    if (task->outcome == Outcome::predecessor) throw_object(exception_of(*task));
    throw failure_of(task, 0);
}

void throw_failures(const std::optional<TaskFailed>& first, const std::vector<TaskPointer>& failed) {
    for (const TaskPointer& task : failed) task->delivered = true;
    if (first) throw TaskFailed(first->task(), first->target(), first->cause(), first->others() + failed.size());
    if (!failed.empty()) throw failure_of(failed.front(), failed.size() - 1);
}

}  // namespace penstock::python
