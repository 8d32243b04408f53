// How a task with a Python body ended, as values and exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "penstock/error.hpp"
#include "python/calls/python_task.hpp"

namespace penstock::python {

/// The exception of a Python body, where exceptions of C++ travel. Its cause is made when it becomes Python's.
class BodyFailed : public Error {
  public:
    BodyFailed(const std::string& what, TaskPointer task) : Error(what), task_(std::move(task)) {}
    const TaskPointer& task() const noexcept { return task_; }

  private:
    TaskPointer task_;
};

/// What the body returned. The task has finished and did not fail.
nb::object result_of(PythonTask& task);
/// The exception that ended it: the body's own, WorkerDied, TimeLimitExceeded, TaskCancelled or Error. With the
/// interpreter's lock.
nb::object exception_of(PythonTask& task);
/// Throws TaskFailed or TaskCancelled where the task failed or was cancelled; from now on a barrier need not.
void throw_failure(const TaskPointer& task);
/// Throws TaskFailed for the first of these and counts the others, where there are any. `others`: more that failed
/// elsewhere.
void throw_failures(const std::vector<TaskPointer>& failed);

}  // namespace penstock::python
