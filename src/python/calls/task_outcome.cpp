#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <utility>

#include "python/calls/python_task.hpp"
#include "python/workers/raised_exception.hpp"
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
    const struct Reader {
        explicit Reader(PythonTask& read) noexcept : task(read) { ++task.readers; }
        ~Reader() {
            if (--task.readers != 0 || !task.result.is_valid()) return;
            if (task.heap != nullptr) task.heap->free(std::exchange(task.result_block, {}));
            task.raw = {};
        }
        PythonTask& task;
    } reader(task);
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
    nb::object error = nb::module_::import_("penstock.errors").attr(late ? "TimeLimitExceeded" : "WorkerDied")(text);
    error.attr("task") = task.function->name;
    error.attr("target") = task.worker;
    error.attr("pid") = task.death.pid;
    error.attr("exit_code") = task.death.exit_code;
    error.attr("signal") = task.death.signal;
    if (late) error.attr("limit") = limit;
    return error;
}

nb::object made_exception(PythonTask& task) {
    const nb::module_ errors = nb::module_::import_("penstock.errors");
    switch (task.outcome) {
        case Outcome::raised: {
            const auto [bytes, size] = bytes_of(task);
            return nb::module_::import_("penstock.interpreters").attr("rebuilt_failure")(nb::bytes(bytes, size));
        }
        case Outcome::died:
        case Outcome::time_limit:
            return death_of(task);
        case Outcome::cancelled:
            return errors.attr("TaskCancelled")("task " + task.function->name + " was cancelled before it started");
        case Outcome::predecessor: {
            const PythonTask& before = *task.failed_predecessor;
            nb::object error = errors.attr("PredecessorFailed")("task " + task.function->name + " did not run: task " +
                                                                before.function->name +
                                                                ", which it comes after, failed or was cancelled");
            error.attr("predecessor") = before.function->name;
            error.attr("__cause__") = exception_of(*task.failed_predecessor);
            return error;
        }
        default:
            return errors.attr("Error")("the outcome of task " + task.function->name +
                                        " is lost: no worker could be started, or something overwrote it");
    }
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
                return read_value(reader, nullptr);
            });
        }
    }
    return task.result;
}

nb::object exception_of(PythonTask& task) {
    if (!task.result.is_valid()) make_result(task, [&] { return made_exception(task); });
    return task.result;
}

namespace {

TaskFailed failure_of(const TaskPointer& task, std::size_t others) {
    task->delivered = true;
    const nb::object error = exception_of(*task);
    const BodyFailed cause(described_exception(error), task);
    return {task->function->name, task->worker, std::make_exception_ptr(cause), others};
}

}  // namespace

void throw_failure(const TaskPointer& task) {
    if (!task->failed()) return;
    if (task->outcome == Outcome::cancelled)
        throw TaskCancelled("task " + task->function->name + " was cancelled before it started");
    if (task->outcome == Outcome::predecessor) {
        const nb::object error = exception_of(*task);
        PyErr_SetObject(error.type().ptr(), error.ptr());
        throw nb::python_error();
    }
    throw failure_of(task, 0);
}

void throw_failures(const std::vector<TaskPointer>& failed) {
    if (failed.empty()) return;
    for (const TaskPointer& task : failed) task->delivered = true;
    throw failure_of(failed.front(), failed.size() - 1);
}

}  // namespace penstock::python
