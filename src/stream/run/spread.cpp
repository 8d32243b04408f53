// Firings that end later than their call: those that go on as tasks, and those of filters that fire elsewhere.
#include "penstock/spread.hpp"

#include "stream/run/run_core.hpp"
#include "task/calls/prefetcher.hpp"

namespace penstock {

Spread::Spread() : Part("") {
    if (owner != nullptr) owner->spreads.push_back(this);
}

Machine& Spread::begin_task() {
    if (station_ == nullptr || station_->doing.load(std::memory_order_relaxed) != streaming::Doing::firing)
        throw UsageError("tasks of a firing are issued inside the firing, in a running graph");
    if (!std::exchange(station_->spreading, true)) station_->tasks_left.store(1, std::memory_order_relaxed);
    station_->tasks_left.fetch_add(1, std::memory_order_relaxed);
    if (auto* const here = streaming::Server::current) here->note_jobs();
    return station_->run().machine();
}

Machine& Spread::machine() const {
    if (station_ == nullptr)
        throw UsageError("a filter in a worker process has no machine: keep what stays in the filter itself");
    return station_->run().machine();
}

void Spread::then(std::function<void()> next) {
    if (here_ != nullptr) return here_->then(std::move(next));
    begin_task();
    const Ticket ticket(station_);
    station_->second_half = std::move(next);
}

std::size_t Spread::workers() const {
    if (here_ != nullptr) return 1;
    return station_ == nullptr ? 1 : static_cast<std::size_t>(station_->run().machine().targets()) + 1;
}

void Spread::hold(std::shared_ptr<void> object) {
    if (here_ != nullptr) return here_->keep(std::move(object));
    if (station_ == nullptr) throw UsageError("tasks of a firing are issued inside the firing, in a running graph");
    if (!std::exchange(station_->spreading, true)) station_->tasks_left.store(1, std::memory_order_relaxed);
    station_->kept.push_back(std::move(object));
}

Spread::Ticket::~Ticket() {
    if (station_ == nullptr) return;
    if (is_due_) station_->job_dropped.store(true, std::memory_order_relaxed);  // leave_task() publishes it
    station_->leave_task();
}

void Spread::Ticket::fail(std::exception_ptr cause) { station_->note_task_failure(std::move(cause)); }

namespace streaming {
namespace {

/// What a filter's user shall see: of a chain, what its step threw.
std::exception_ptr cause_of(std::exception_ptr thrown) noexcept {
    try {
        std::rethrow_exception(thrown);
    } catch (const chain::StepFailed& step) {
        return step.cause;
    } catch (...) {
        return thrown;
    }
}

}  // namespace

// What the tasks wrote comes before their decrements (acq_rel), the last of which posts the mail (a release).
void Station::leave_task() {
    if (tasks_left.fetch_sub(1, std::memory_order_acq_rel) == 1) run_.post(*this, &tasks_done);
}

void Station::note_task_failure(std::exception_ptr cause) {
    cause = cause_of(std::move(cause));
    const std::lock_guard lock(task_failure_lock);
    if (task_failure == nullptr) task_failure = std::move(cause);
}

void Station::complete_spread() {
    if (job_dropped.exchange(false, std::memory_order_relaxed) && task_failure == nullptr)
        task_failure = std::make_exception_ptr(TaskCancelled(
            "a job of a firing of filter '" + name_ + "' was not run: there was no memory for it or its arguments"));
    if (second_half && task_failure == nullptr) return go_on();
    second_half = nullptr;
    kept.clear();
    const auto firing = firings.load(std::memory_order_relaxed) - 1;  // it was counted when it returned
    if (auto failure = std::exchange(task_failure, nullptr)) {
        fail(std::move(failure), firing);
    } else {
        try {
            filter_->complete();  // still spreading: what it writes is held back until this is over
        } catch (...) {
            fail(std::current_exception(), firing);
        }
    }
    if (several_copies) pass_on_order();
    spreading = false;
}

/// The firing goes on: its jobs so far have completed.
void Station::go_on() {
    turn_to(Doing::firing);
    tasks_left.store(1, std::memory_order_relaxed);
    try {
        std::exchange(second_half, nullptr)();
    } catch (...) {
        note_task_failure(std::current_exception());
    }
    leave_task();
}

// ---- a call that was carried out elsewhere: the second half of fire(), start(), finish() and of an event ----

/// What the filter wrote waits at the outputs until the station looks at them (step()), so that nothing goes by streams
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
    if (outcome.failure != nullptr)
        fail(std::move(outcome.failure), firings.load(std::memory_order_relaxed),
             outcome.died ? Loss{true, std::move(outcome.lost), std::move(outcome.others)} : Loss{});
    if (fired) {
        tally(firings);
        tally(service_ticks, outcome.ticks);
        if (has_class) note_cost(Clock::ticks() - sent_at);
        tally(sampled);
        note_length(Clock::nanoseconds(outcome.ticks));
        if (failed_unread) {
            const auto before = dropped.load(std::memory_order_relaxed);
            drop_one_of_each();
            if (outcome.died) dropped.store(before, std::memory_order_relaxed);  // they count as lost
        }
        if (several_copies) pass_on_order();
    }
    spreading = false;
    if (loop != nullptr) loop_tokens_ += taken_in_firing_ + (outcome.call == FilterCall::start ? 1 : 0);
    for (Command* const command : std::exchange(postponed_, {})) carry_out(command);
}

LostBuffer Station::lost_buffer(const Inlet& inlet, const Block& block) const {
    return {name_,        copy_, firings.load(std::memory_order_relaxed), inlet.port->name(), block.tags.sequence,
            block.written};
}

// ---- jobs that run where the filter does ----

JobsHere::JobsHere() = default;
JobsHere::~JobsHere() { clear(); }

std::size_t JobsHere::local_store_bytes() const noexcept { return std::size_t{256} << 10; }

void JobsHere::run() {
    if (jobs_.empty() && !next_) return;
    if (store_ == nullptr) {
        store_ = std::make_unique<LocalStore>(local_store_bytes());
        prefetcher_ = std::make_unique<Prefetcher>(Prefetch::measured);
    }
    std::exception_ptr failure;
    const auto try_to = [&](const auto& work) {
        try {
            work();
        } catch (...) {
            if (failure == nullptr) failure = cause_of(std::current_exception());
        }
    };
    while (!jobs_.empty() || next_) {
        const auto jobs = std::exchange(jobs_, {});
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            if (i + 1 < jobs.size()) (void)prefetcher_->next(jobs[i + 1]->payload, jobs[i + 1]->extension.bytes);
            auto& job = *jobs[i];
            const PackedArguments arguments{job.payload.line, job.extension.bytes,
                                            (job.payload.flags & TaskPayload::boxed) != 0};
            try_to([&] { entry_of(job.entry).run(arguments, *store_); });
        }
        prefetcher_->interrupted();
        if (next_ && failure == nullptr) try_to(std::exchange(next_, nullptr));
        else next_ = nullptr;
    }
    kept_.clear();
    if (failure != nullptr) std::rethrow_exception(failure);
}

void JobsHere::clear() noexcept {
    for (const auto& job : jobs_)
        entry_of(job->entry)
            .discard({job->payload.line, job->extension.bytes, (job->payload.flags & TaskPayload::boxed) != 0});
    jobs_.clear();
    next_ = nullptr;
    kept_.clear();
}

}  // namespace streaming
}  // namespace penstock
