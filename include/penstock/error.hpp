// The errors that Penstock throws: types with facts in them, and a message that says what to do next.
#pragma once

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>

namespace penstock {

/// Base of everything that Penstock throws.
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The caller broke a rule of the interface (misuse that is refused where it is written).
struct UsageError : Error {
    using Error::Error;
};

/// An argument of a call breaks a rule: null, misaligned, overlapping, too large a stride, a value that does not fit.
class ArgumentError : public UsageError {
  public:
    ArgumentError(std::string task, int argument, const std::string& what);
    /// The task's name.
    const std::string& task() const noexcept { return task_; }
    int argument() const noexcept { return argument_; }  ///< counted from 1, as in the parameter list

  private:
    std::string task_;
    int argument_;
};

/// A task ended by an exception. `cause()` is the exception itself (rethrow it), what() says which task and where.
class TaskFailed : public Error {
  public:
    static constexpr int unknown_target = -2;  ///< where nobody knows any more
    TaskFailed(std::string task, int target, std::exception_ptr cause, std::size_t others = 0);
    /// The task's name.
    const std::string& task() const noexcept { return task_; }
    /// -1: the initiator itself ran it; or unknown_target
    int target() const noexcept { return target_; }
    std::exception_ptr cause() const noexcept { return cause_; }  ///< never null
    /// How many more tasks failed before the same barrier
    std::size_t others() const noexcept { return others_; }

  private:
    std::string task_;
    int target_;
    std::exception_ptr cause_;
    std::size_t others_;
};

/// A call-back (CallOptions::then) threw. `cause()` is what it threw.
class CallbackFailed : public Error {
  public:
    CallbackFailed(std::exception_ptr cause, std::size_t others);
    std::exception_ptr cause() const noexcept { return cause_; }  ///< never null
    /// How many more call-backs threw before the same poll or barrier
    std::size_t others() const noexcept { return others_; }

  private:
    std::exception_ptr cause_;
    std::size_t others_;
};

/// Nothing has moved for as long as MachineOptions::watchdog allows; the message says who waits for what, and which
/// tasks run.
struct Stalled : Error {
    using Error::Error;
};

/// The task that a handle stands for was cancelled before it started.
struct TaskCancelled : Error {
    using Error::Error;
};

/// The task was not run, because one that it comes after, directly or not, failed or was cancelled.
class PredecessorFailed : public TaskCancelled {
  public:
    PredecessorFailed(const std::string& task, std::string predecessor, const std::string& why,
                      std::exception_ptr cause);
    const std::string& predecessor() const noexcept { return predecessor_; }  ///< the name of the first that failed
    std::exception_ptr cause() const noexcept { return cause_; }              ///< how it failed; never null

  private:
    std::string predecessor_;
    std::exception_ptr cause_;
};

/// A call was refused because everything that may hold it is full (WhenFull::refuse).
struct QueueFull : Error {
    using Error::Error;
};

/// Tasks wait inside tasks deeper than the limit.
struct NestingTooDeep : UsageError {
    using UsageError::UsageError;
};

/// The wait can never end; the message says what waits for what.
struct WouldDeadlock : UsageError {
    using UsageError::UsageError;
};

/// The machine behind a handle or a call no longer exists (or stayed behind in the parent of a fork).
struct MachineGone : UsageError {
    using UsageError::UsageError;
};

/// Connections between machines need OpenSSL 3, and it is not there. what() says what to install.
class OpenSslMissing : public Error {
  public:
    using Error::Error;
};

/// The operating system refused something that Penstock needs (memory, a thread, a descriptor).
class SystemError : public Error {
  public:
    SystemError(const std::string& what, int number);
    /// The system's errno.
    int number() const noexcept { return number_; }

  private:
    int number_;
};

}  // namespace penstock
