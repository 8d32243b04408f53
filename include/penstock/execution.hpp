// task layer: a machine as a scheduler of senders and receivers, the vocabulary of C++26's std::execution.
//
//     auto work = stdexec::schedule(penstock::scheduler(machine)) | stdexec::then([] { return 42; });
//     auto [answer] = stdexec::sync_wait(std::move(work)).value();
//
// With stdexec (NVIDIA's implementation, found as <stdexec/execution.hpp>) the scheduler is one of its own, and all its
// algorithms run on it. Without, it still has the members of the standard: schedule(), connect(), start(); a receiver
// then has set_value(), set_error(std::exception_ptr) and set_stopped(), called as members.
//
// A scheduled operation is one task without arguments: it takes no memory, and what follows it runs on the target. It
// counts as a call of the thread that started it, so that machine.finish() waits for it.
#pragma once

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

#include "penstock/machine.hpp"

#if __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#define PENSTOCK_HAVE_STDEXEC 1
#endif

namespace penstock {

class Scheduler;

namespace execution {

#if defined(PENSTOCK_HAVE_STDEXEC)
using SenderTag = stdexec::sender_t;
using OperationTag = stdexec::operation_state_t;
using SchedulerTag = stdexec::scheduler_t;
using Signatures = stdexec::completion_signatures<stdexec::set_value_t(), stdexec::set_error_t(std::exception_ptr),
                                                  stdexec::set_stopped_t()>;
template <class Receiver>
void set_value(Receiver& receiver) noexcept {
    stdexec::set_value(std::move(receiver));
}
template <class Receiver>
void set_error(Receiver& receiver, std::exception_ptr error) noexcept {
    stdexec::set_error(std::move(receiver), std::move(error));
}
template <class Receiver>
void set_stopped(Receiver& receiver) noexcept {
    stdexec::set_stopped(std::move(receiver));
}
template <class Receiver>
bool stop_requested(const Receiver& receiver) noexcept {
    return stdexec::get_stop_token(stdexec::get_env(receiver)).stop_requested();
}
#else
struct SenderTag {};
struct OperationTag {};
struct SchedulerTag {};
struct Signatures {};
template <class Receiver>
void set_value(Receiver& receiver) noexcept {
    std::move(receiver).set_value();
}
template <class Receiver>
void set_error(Receiver& receiver, std::exception_ptr error) noexcept {
    std::move(receiver).set_error(std::move(error));
}
template <class Receiver>
void set_stopped(Receiver& receiver) noexcept {
    std::move(receiver).set_stopped();
}
/// A receiver may say by stop_requested() that nobody wants the result any more.
template <class Receiver>
bool stop_requested(const Receiver& receiver) noexcept {
    if constexpr (requires { receiver.stop_requested(); }) return receiver.stop_requested();
    else return false;
}
#endif

/// One scheduled task and what it goes on with. Stays where it is from start() until the receiver has been told.
template <class Receiver>
class Operation {
  public:
    using operation_state_concept = OperationTag;

    Operation(Machine& machine, Receiver&& receiver) : machine_(machine), receiver_(std::move(receiver)) {}
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    /// A call that is refused (the machine is gone, its queue is full) is an error of the receiver's.
    void start() noexcept {
        if (stop_requested(receiver_)) return set_stopped(receiver_);
        try {
            machine_.call([this] { run(); });
        } catch (...) {
            set_error(receiver_, std::current_exception());
        }
    }

  private:
    void run() noexcept {
        if (stop_requested(receiver_)) set_stopped(receiver_);
        else set_value(receiver_);
    }

    Machine& machine_;
    Receiver receiver_;
};

/// What schedule() gives: completes with nothing, on a target.
class Sender {
  public:
    using sender_concept = SenderTag;
    using completion_signatures = Signatures;

    explicit Sender(Machine& machine) noexcept : machine_(&machine) {}
    template <class Receiver>
    Operation<std::decay_t<Receiver>> connect(Receiver receiver) const {
        return {*machine_, std::move(receiver)};
    }

    /// Where it completes.
    struct Environment {
        Machine* machine;
#if defined(PENSTOCK_HAVE_STDEXEC)
        template <class Completion>
        Scheduler query(stdexec::get_completion_scheduler_t<Completion>) const noexcept;
#endif
    };
    Environment get_env() const noexcept { return {machine_}; }

  private:
    Machine* machine_;
};

}  // namespace execution

/// A machine as a scheduler. Copies are equal when their machine is the same; the machine must outlive what is
/// scheduled.
class Scheduler {
  public:
    using scheduler_concept = execution::SchedulerTag;  ///< says what it is

    /// The machine must outlive it.
    explicit Scheduler(Machine& machine) noexcept : machine_(&machine) {}
    /// A sender that completes on a target.
    execution::Sender schedule() const noexcept { return execution::Sender(*machine_); }
    /// Where it schedules.
    Machine& machine() const noexcept { return *machine_; }
    friend bool operator==(const Scheduler&, const Scheduler&) = default;

#if defined(PENSTOCK_HAVE_STDEXEC)
    /// A task that waits inside a task helps, so every started operation goes on.
    stdexec::forward_progress_guarantee query(stdexec::get_forward_progress_guarantee_t) const noexcept {
        return stdexec::forward_progress_guarantee::weakly_parallel;
    }
#endif

  private:
    Machine* machine_;
};

inline Scheduler scheduler(Machine& machine) noexcept { return Scheduler(machine); }

#if defined(PENSTOCK_HAVE_STDEXEC)
template <class Completion>
Scheduler execution::Sender::Environment::query(stdexec::get_completion_scheduler_t<Completion>) const noexcept {
    return Scheduler(*machine);
}
#endif

}  // namespace penstock
