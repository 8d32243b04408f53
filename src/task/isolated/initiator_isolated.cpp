// How an initiator issues a task that a worker process runs.
#include <chrono>
#include <string>

#include "penstock/detail/task/initiator.hpp"
#include "penstock/error.hpp"
#include "task/calls/core.hpp"

namespace penstock {

const isolated::CallSide& Initiator::call_side() const noexcept { return host_->call_side(); }

std::uint32_t Initiator::flags_of_isolated_call(std::uint32_t entry) {
    if (asked_->then || asked_->notification != Notification::polled || asked_->deadline.count() != 0 ||
        asked_->priority != Priority::normal)
        throw CannotCarryOver(std::string(entry_of(entry).name), 0,
                              "call-backs, notification, deadlines and priorities are kept by thread targets only; "
                              "poll or wait for its handle");
    const auto limit = asked_->time_limit;
    if (limit.count() == 0) return 0;
    if (limit < std::chrono::milliseconds(1) || limit > isolated::longest_limit)
        throw UsageError("CallOptions::time_limit must be from 1 ms to 27 minutes, or 0 for the machine's");
    host_->expect_limit(limit);
    return static_cast<std::uint32_t>(limit.count() / isolated::limit_unit) << isolated::limit_shift;
}

Initiator::Spot Initiator::reserve_isolated(int target, bool staged) {
    if (staged) {
        scope();
        return reserve_in_deque(target);
    }
    const bool balanced = target == any_target && core_.options().distribution == Distribution::balanced;
    if (balanced && lanes_idle_ != 0 && deque_idle_ && scope_ == &base_ && !shared_)
        if (LaneEnd* const lane = idle_lane()) return {lane->producer.reserve(), lane, lane->ring};
    return reserve(target);
}

}  // namespace penstock
