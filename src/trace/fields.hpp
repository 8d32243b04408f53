// The counters one by one, for whatever does the same to each: read it, subtract it, add it, print it. And the one
// check of the factor from ticks to nanoseconds.
#pragma once

#include <penstock/detail/trace/snapshot.hpp>

namespace penstock::trace {

/// Calls visit(name, field of a, field of b) for each counter of an initiator; a and b are counters or totals.
template <typename A, typename B, typename Visit>
void each_initiator_field(A& a, B& b, Visit visit) {
    visit("calls", a.calls, b.calls);
    visit("committed", a.committed, b.committed);
    visit("helped", a.helped, b.helped);
    visit("inlined", a.inlined, b.inlined);
    visit("stalls", a.stalls, b.stalls);
    visit("refused", a.refused, b.refused);
    visit("sampled_calls", a.sampled_calls, b.sampled_calls);
    visit("sampled_call_ticks", a.sampled_call_ticks, b.sampled_call_ticks);
    visit("stall_ticks", a.stall_ticks, b.stall_ticks);
    visit("waits", a.waits, b.waits);
    visit("sampled_waits", a.sampled_waits, b.sampled_waits);
    visit("sampled_wait_ticks", a.sampled_wait_ticks, b.sampled_wait_ticks);
    visit("callbacks", a.callbacks, b.callbacks);
    visit("help_ticks_sampled", a.help_ticks_sampled, b.help_ticks_sampled);
    visit("help_sampled", a.help_sampled, b.help_sampled);
}

/// The same for the counters of a target.
template <typename A, typename B, typename Visit>
void each_target_field(A& a, B& b, Visit visit) {
    visit("tasks", a.tasks, b.tasks);
    visit("pulled", a.pulled, b.pulled);
    visit("failed", a.failed, b.failed);
    visit("sampled_tasks", a.sampled_tasks, b.sampled_tasks);
    visit("sampled_compute_ticks", a.sampled_compute_ticks, b.sampled_compute_ticks);
    visit("sampled_transfer_ticks", a.sampled_transfer_ticks, b.sampled_transfer_ticks);
    visit("staged_bytes", a.staged_bytes, b.staged_bytes);
    visit("prefetched_bytes", a.prefetched_bytes, b.prefetched_bytes);
    visit("prefetched_tasks", a.prefetched_tasks, b.prefetched_tasks);
    visit("late", a.late, b.late);
    visit("idle_ticks", a.idle_ticks, b.idle_ticks);
    visit("idle_periods", a.idle_periods, b.idle_periods);
    visit("parks", a.parks, b.parks);
}

/// Calls visit(name, field of a, field of b) for two totals of the same role.
template <typename A, typename B, typename Visit>
void each_field(A& a, B& b, Visit visit) {
    if (a.index() == 0) each_initiator_field(std::get<InitiatorTotals>(a), std::get<InitiatorTotals>(b), visit);
    else each_target_field(std::get<TargetTotals>(a), std::get<TargetTotals>(b), visit);
}

/// The factor from ticks to nanoseconds; throws UsageError unless it is above 0 and at most 1e9.
double checked_tick(double nanoseconds_per_tick);

}  // namespace penstock::trace
