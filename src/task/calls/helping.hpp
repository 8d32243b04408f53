// task layer: a thread that waits for a run helps with the jobs of its firings, which lie in the deque of whoever
// fired: in its own, or in a target's.
#pragma once

namespace penstock {

class Machine;

enum class JobsOf {
    this_thread,
    anybody  ///< this thread first, then targets
};

/// Runs a few tasks of this thread's own deque, or of a target's. False: none waits, or this thread does not help.
bool help_with_jobs(Machine& machine, JobsOf whose);
/// Would it find one?
bool jobs_wait(Machine& machine) noexcept;

}  // namespace penstock
