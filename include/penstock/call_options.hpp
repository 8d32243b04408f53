// task layer: what a single call may ask for beyond being run: machine.with({.priority = Priority::high}).call<f>(...).
//
// A plain call does not pay for any of it. A call with options takes the long way into its queue, about 100 ns; what
// each option adds stands beside it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "penstock/handle.hpp"

namespace penstock {

/// Which waiting task a free target takes first. Among those of one priority the oldest of an initiator comes first.
enum class Priority : std::uint8_t {
    normal,
    /// Before all normal ones that no target has begun to run. A target that has claimed 15 times in a row from these
    /// claims from the normal ones once.
    high,
};

/// How the initiator learns that a task has completed (Cell-RTL's three mechanisms).
enum class Notification : std::uint8_t {
    polled,   ///< it looks at the completion line of each lane and deque: nothing is added to a task
    mailbox,  ///< the target posts each completed task into one mailbox of the initiator (a compare-and-swap a task)
    /// The same, and where the initiator sleeps it is woken through its notification descriptor (an eventfd)
    interrupt,
};

/// What one call asks for.
struct CallOptions {
    static constexpr int any_target = -1;  ///< for `target`

    /// The only target that may run the task, or any.
    int target = any_target;
    Priority priority = Priority::normal;  ///< which waiting task goes first
    /// Runs on the calling thread, inside its next poll(), barrier(), finish() or wait once the task has completed,
    /// with the task's handle (whose wait() throws if the task failed). When barrier() returns, all of them have run.
    /// It may issue further calls, also with call-backs; it may wait, but then no other call-back runs meanwhile. What
    /// it throws is thrown by that poll() or barrier() as CallbackFailed, after the others have run. Not for calls
    /// inside tasks: a target does not poll. Those of a thread that has ended, or of a machine that is gone, do not run
    /// any more.
    std::function<void(Handle)> then{};
    /// Posts the completion to the mailbox, or signals notification_descriptor() too, whatever the machine's other
    /// calls do.
    Notification notification = Notification::polled;
    /// The task is late when it has not completed this long after the call; 0: never. Late tasks run all the same; they
    /// are counted in the trace (`late`) and appear in the timeline.
    std::chrono::nanoseconds deadline{0};
    /// Sends the task where its first inout argument (else its first out argument) last lay for an affine call of this
    /// thread, unless that target's lane is full: caches stay warm. For `target` any.
    bool affine = false;
    /// For process targets: a task that takes longer is ended with its worker (see MachineOptions::time_limit, which
    /// this replaces). A millisecond to 27 minutes; 0: the machine's limit.
    std::chrono::nanoseconds time_limit{0};
};

}  // namespace penstock
