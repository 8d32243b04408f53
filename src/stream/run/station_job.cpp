// What a station does when a worker process has reported a firing: the second half of fire(), start(), finish() and of
// an event.
#include <utility>

#include "penstock/detail/machine/clock.hpp"
#include "stream/run/run_core.hpp"
#include "stream/run/tally.hpp"

namespace penstock::streaming {

/// What the filter wrote waits at the outputs until the station looks at them (next()), so that nothing goes by streams
/// that an edit changes.
void Station::complete_job() {
    taken_in_firing_ = 0;
    auto outcome = proxy->take_back();
    const bool fired = outcome.call == FilterCall::fire;
    if (fired) over_ = outcome.over;
    if (fired && taken_in_firing_ == 0 && !source_ && !over_ && outcome.failure == nullptr) {
        if (outcome.passed_all)
            outcome.failure = std::make_exception_ptr(UsageError(
                "filter '" + name_ +
                "' fired because buffers wait at its inputs, and read none of them: it would fire for ever"));
        else proxy->pass_more();
    }
    const bool failed_unread = fired && outcome.failure != nullptr && taken_in_firing_ == 0;
    if (failed_unread && outcome.died)
        for (const auto& inlet : inlets)
            if (!inlet->queue.empty()) outcome.lost.push_back(lost_buffer(*inlet, *inlet->queue.front().block));
    tally(lost, outcome.lost.size());
    run_.note_lost(outcome.lost);
    if (outcome.failure != nullptr) {
        tally(failures);
        run_.failed(*this, firings.load(std::memory_order_relaxed), std::move(outcome.failure),
                    outcome.died ? Loss{true, std::move(outcome.lost), std::move(outcome.others)} : Loss{});
    }
    if (fired) {
        tally(firings);
        tally(service_ticks, outcome.ticks);
        tally(sampled);
        timed_ = Clock::nanoseconds(outcome.ticks) >= 1'000;
        if (!timed_) since_ = 0;
        if (failed_unread) {
            const auto before = dropped.load(std::memory_order_relaxed);
            drop_one_of_each();
            if (outcome.died) dropped.store(before, std::memory_order_relaxed);  // they count as lost
        }
        if (several_copies) pass_on_order();
    }
    spreading = false;
    if (loop != nullptr) loop_tokens_ += taken_in_firing_ + (outcome.call == FilterCall::start ? 1 : 0);
    for (Errand* const errand : std::exchange(postponed_, {})) carry_out(errand);
}

LostBuffer Station::lost_buffer(const Inlet& inlet, const Block& block) const {
    return {name_,        copy_, firings.load(std::memory_order_relaxed), inlet.port->name(), block.tags.sequence,
            block.written};
}

}  // namespace penstock::streaming
