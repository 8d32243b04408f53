// task layer: what a user meets of process targets: why a task in one can fail, and code that appeared after the
// workers started.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "penstock/error.hpp"

namespace penstock {

/// The worker process that ran a task ended before the task did. The task's `out` and `inout` arguments hold undefined
/// values.
class WorkerDied : public Error {
  public:
    /// What is known of the death.
    struct Facts {
        std::string task;                ///< which it ran
        int target = -1;                 ///< where
        int pid = 0;                     ///< the worker's
        std::optional<int> signal{};     ///< that killed it
        std::optional<int> exit_code{};  ///< with which it exited
        bool core_dumped = false;        ///< did it leave a core file?
        /// The worker was ended because the task took longer than this
        std::optional<std::chrono::nanoseconds> time_limit{};
        /// Of each tagged argument; empty where one is strided or in pieces
        std::vector<std::size_t> argument_bytes{};
        std::string output{};  ///< the last lines that the worker wrote to stderr
    };

    explicit WorkerDied(Facts facts);
    /// Which task it ran.
    const std::string& task() const noexcept { return facts_.task; }
    /// On which target.
    int target() const noexcept { return facts_.target; }
    /// The worker's process.
    int pid() const noexcept { return facts_.pid; }
    /// The signal that killed it.
    std::optional<int> signal() const noexcept { return facts_.signal; }
    /// The status with which it exited.
    std::optional<int> exit_code() const noexcept { return facts_.exit_code; }
    /// Did it leave a core file?
    bool core_dumped() const noexcept { return facts_.core_dumped; }
    /// How long the task was allowed to take, where it took longer.
    std::optional<std::chrono::nanoseconds> time_limit() const noexcept { return facts_.time_limit; }
    /// Of each tagged argument.
    const std::vector<std::size_t>& argument_bytes() const noexcept { return facts_.argument_bytes; }
    /// The last lines that it wrote to stderr.
    const std::string& output() const noexcept { return facts_.output; }

  private:
    Facts facts_;
};

/// An exception that a task threw in a worker process. Only its text travels.
class RemoteException : public Error {
  public:
    RemoteException(std::string type, const std::string& what);
    /// The exception's type as the program's source writes it, for instance "std::bad_alloc".
    const std::string& type() const noexcept { return type_; }

  private:
    std::string type_;
};

/// A call or an argument cannot be carried over to a worker process; what() says why and what to do.
class CannotCarryOver : public UsageError {
  public:
    CannotCarryOver(std::string task, int argument, const std::string& why);
    /// Which call.
    const std::string& task() const noexcept { return task_; }
    int argument() const noexcept { return argument_; }  ///< counted from 1; 0: the procedure itself

  private:
    std::string task_;
    int argument_;
};

/// The machine has no workers any more: something wrote over the memory that they share with the program, or they end
/// as soon as they start. Every unfinished task has failed with this, and every further call does.
struct WorkersLost : Error {
    using Error::Error;
};

}  // namespace penstock
