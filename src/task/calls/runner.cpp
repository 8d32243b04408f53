#include "task/calls/runner.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <string>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/task/chain_image.hpp"
#include "task/calls/running.hpp"
#include "task/waiting/notices.hpp"

namespace penstock {

namespace {

/// Of a task that ended otherwise than it should, perhaps for want of memory.
std::string name_of(const Entry& entry) noexcept {
    try {
        return std::string(entry.name);
    } catch (const std::bad_alloc&) {
        return "(unnamed)";  // short enough to need none
    }
}

}  // namespace

std::uint32_t Runner::run(Ring& ring, TaskPayload& payload, Extension* extension, std::uint64_t number) noexcept {
    const Inside inside(*this, &ring, number);
    const auto notice = run_one(ring, payload, extension, number);
    if (ring.cancels()) [[unlikely]]
        ring.take_cancellation(number);  // asked for too late
    counters_.tasks.add_release();
    return notice;
}

void Runner::run_front(Ring& lane, Consumer<TaskPayload>& consumer, TaskPayload& payload) noexcept {
    const auto number = consumer.next();
    std::uint32_t notice = 0;
    {
        const Inside inside(*this, &lane, number);
        notice = run_one(lane, payload, &lane.extensions()[consumer.position()], number);
        if (lane.cancels()) [[unlikely]]
            lane.take_cancellation(number);  // asked for too late
        counters_.tasks.add_release();
        consumer.complete();
    }
    if (notice != 0) [[unlikely]]
        notify(lane, notice);
    penstock::wake_at(lane.owner_bell());
}

// It completes in its slot, so somebody may wait for just this task: what need not come before its completion comes
// behind it, and what Inside would save for a task around it is left out. There is none, and outside tasks a target
// issues nothing.
bool Runner::run_lone(Ring& lane, Consumer<TaskPayload>& consumer, TaskRecord& record) noexcept {
    const bool in_slot = (record.sequence.load(std::memory_order_relaxed) & 1) != 0;
    if (!in_slot || until_sample_ == 1 || lane.cancels() || core_.board().timeline.load(std::memory_order_relaxed) != 0)
        [[unlikely]]
        return false;
    TaskPayload& payload = record.payload;
    const std::uint32_t notice = payload.flags >> TaskPayload::notice_shift;
    const Entry& entry = entry_of(payload.entry);
    const Running task{&lane, consumer.next(), nullptr, nullptr};
    const auto outer = self_.enter_task(core_.standing_options());
    --until_sample_;  // of this one: tasks that it runs while it waits may begin to count anew
    depth_ = 1;
    innermost_ = &task;
    running_.store(payload.entry, std::memory_order_relaxed);
    try {
        entry.run(
            {payload.line, lane.extensions()[consumer.position()].bytes, (payload.flags & TaskPayload::boxed) != 0},
            store_);
    } catch (...) {
        keep_failure(lane, entry, task.number);
    }
    self_.leave_scope();
    if (lane.cancels()) [[unlikely]]
        lane.take_cancellation(task.number);  // asked for too late
    counters_.tasks.add_release();
    consumer.complete();
    innermost_ = nullptr;
    depth_ = 0;
    running_.store(0, std::memory_order_relaxed);
    self_.leave_task(outer);
    if (notice != 0) [[unlikely]]
        notify(lane, notice);
    penstock::wake_at(lane.owner_bell());
    return true;
}

void Runner::run_posted(const Posting& posting, bool last) noexcept {
    const Inside inside(*this);
    posting.run(posting.first, posting.second, target_, last);
    self_.leave_scope();
}

std::uint64_t Runner::start_sample(const TaskPayload& payload) noexcept {
    until_sample_ = core_.board().timeline.load(std::memory_order_relaxed) != 0 ? 1 : trace::tasks_a_sample;
    timed_entry_ = payload.entry;
    copy_ticks_ = 0;
    store_.observe(this);
    return Clock::ticks();
}

void Runner::copied(bool back, std::uint64_t begin, std::uint64_t end, std::size_t bytes) noexcept {
    copy_ticks_ += end - begin;
    if (!self_.timeline().enabled()) return;
    trace::Event event{.begin = begin, .end = end, .id = timed_entry_};
    event.kind = back ? trace::EventKind::write_back : trace::EventKind::fetch;
    event.target = self_.track();
    (back ? event.bytes_out : event.bytes_in) = bytes;
    self_.timeline().record(event);
}

void Runner::note_fetched(std::uint64_t begin, std::uint32_t entry, std::size_t bytes) noexcept {
    self_.timeline().record({.begin = begin,
                             .end = Clock::ticks(),
                             .id = entry,
                             .kind = trace::EventKind::fetch,
                             .target = self_.track(),
                             .bytes_in = bytes});
}

void Runner::end_sample(std::uint64_t begin, const TaskPayload& payload, std::byte* extension, Ring& ring) noexcept {
    const auto end = Clock::ticks();
    if (until_sample_ != 1) store_.observe(nullptr);
    counters_.sampled_tasks.add();
    counters_.sampled_compute_ticks.add(end - begin - copy_ticks_);
    counters_.sampled_transfer_ticks.add(copy_ticks_);
    static const double ticks_worth = worth_a_claim / Clock::nanoseconds_per_tick();
    task_ticks_ += (static_cast<double>(end - begin) - task_ticks_) / 4;
    least_claimed_ = static_cast<std::uint32_t>(std::clamp(ticks_worth / task_ticks_, 1.0, 16.0));
    if (depth_ == 1 && target_ == Initiator::any_target) {
        self_.counters().help_sampled.add();
        self_.counters().help_ticks_sampled.add(end - begin);
    }
    if (!self_.timeline().enabled()) return;
    trace::Event event{.begin = begin, .end = end, .id = payload.entry, .kind = trace::EventKind::task};
    event.issuer = ring.owner().track();
    event.target = self_.track();
    event.issued = ring.take_issued(payload);
    if (event.issued < core_.recorded_since()) event.issued = 0;  // of an earlier recording
    if ((payload.flags & TaskPayload::boxed) == 0) {              // a box is gone by now
        std::array<ArgumentBlock, Entry::max_blocks> blocks;
        const PackedArguments arguments{const_cast<std::byte*>(payload.line), extension, false};
        const auto count = entry_of(payload.entry).describe(arguments, blocks.data());
        for (std::size_t i = 0; i < count; ++i) {
            if (blocks[i].access != Access::out) event.bytes_in += blocks[i].bytes();
            if (blocks[i].access != Access::in) event.bytes_out += blocks[i].bytes();
        }
    }
    self_.timeline().record(event);
}

void Runner::notify(Ring& ring, std::uint32_t notice) noexcept {
    Notices& notices = *ring.owner().notices();
    if (const auto deadline = notices[notice].deadline; deadline != 0) {
        if (const auto now = Clock::ticks(); now > deadline) {
            counters_.late.add();
            if (self_.timeline().enabled())
                self_.timeline().record({.begin = deadline,
                                         .end = now,
                                         .id = notices[notice].entry,
                                         .kind = trace::EventKind::late,
                                         .issuer = ring.owner().track(),
                                         .target = self_.track()});
        }
    }
    notices.completed(notice);
}

void Runner::keep_failure(Ring& ring, const Entry& entry, std::uint64_t number) noexcept {
    counters_.failed.add();
    try {
        throw;
    } catch (chain::StepFailed& step) {
        ring.fail({number, std::move(step.task), target_, std::move(step.cause), false});
    } catch (...) {
        ring.fail({number, name_of(entry), target_, std::current_exception(), false});
    }
}

void Runner::skip(Ring& ring, const Entry& entry, const PackedArguments& arguments, std::uint64_t number) noexcept {
    entry.discard(arguments);
    ring.fail({number, name_of(entry), target_, nullptr, true});
}

}  // namespace penstock
