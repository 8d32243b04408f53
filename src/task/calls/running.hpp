// task layer, internal: one task on this thread, by whichever way it came: what is set up around tasks, and its run.
#pragma once

#include <atomic>
#include <cstdint>

#include "penstock/detail/task/entry.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"

namespace penstock {

/// For as long as it lives this thread is inside tasks: what they issue goes into scopes of their own.
class Runner::Inside {
  public:
    explicit Inside(Runner& runner, Ring* ring = nullptr, std::uint64_t number = 0) noexcept
        : task{ring, number, nullptr, runner.innermost_}, runner_(runner), timed_entry_(runner.timed_entry_),
          copy_ticks_(runner.copy_ticks_), outer_(runner.self_.enter_task(runner.core_.standing_options())) {
        ++runner.depth_;
        runner.innermost_ = &task;
        if (runner.core_.board().timeline.load(std::memory_order_relaxed) != 0) runner.until_sample_ = 1;
    }
    ~Inside() {
        runner_.timed_entry_ = timed_entry_;
        runner_.copy_ticks_ = copy_ticks_;
        runner_.innermost_ = task.outer;
        if (--runner_.depth_ == 0) runner_.running_.store(0, std::memory_order_relaxed);
        runner_.self_.leave_task(outer_);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    Running task;  ///< the one that runs now

  private:
    Runner& runner_;
    std::uint32_t timed_entry_;  ///< of the task around it
    std::uint64_t copy_ticks_;
    Initiator::Interrupted outer_;
};

inline std::uint32_t Runner::claimant_in(const Ring& ring) const noexcept {
    const auto targets = static_cast<std::uint32_t>(self_.target_count());
    return target_ >= 0 ? static_cast<std::uint32_t>(target_) : targets + (&ring.owner() == &self_ ? 0 : 1);
}

[[gnu::always_inline]] inline std::uint32_t Runner::run_one(Ring& ring, TaskPayload& payload, Extension* extension,
                                                            std::uint64_t number) noexcept {
    const Entry& entry = entry_of(payload.entry);
    const std::uint32_t notice = payload.flags >> TaskPayload::notice_shift;
    const PackedArguments arguments{payload.line, extension->bytes, (payload.flags & TaskPayload::boxed) != 0};
    if (ring.cancels() && ring.take_cancellation(number)) [[unlikely]] {
        skip(ring, entry, arguments, number);
        return notice;
    }
    if (depth_ == 1) running_.store(payload.entry, std::memory_order_relaxed);
    const std::uint64_t begin = --until_sample_ == 0 ? start_sample(payload) : 0;
    try {
        entry.run(arguments, store_);
    } catch (...) {
        keep_failure(ring, entry, number);
    }
    if (begin != 0) [[unlikely]]
        end_sample(begin, payload, extension->bytes, ring);
    self_.leave_scope();
    return notice;
}

}  // namespace penstock
