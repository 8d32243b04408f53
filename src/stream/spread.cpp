#include "penstock/spread.hpp"

#include "penstock/error.hpp"
#include "stream/run_core.hpp"
#include "stream/station.hpp"

namespace penstock {

Machine& Spread::begin_task() {
    if (station_ == nullptr || station_->doing.load(std::memory_order_relaxed) != streaming::Doing::firing)
        throw UsageError("tasks of a firing are issued inside the firing, in a running graph");
    if (!std::exchange(station_->spreading, true)) station_->tasks_left.store(1, std::memory_order_relaxed);
    station_->tasks_left.fetch_add(1, std::memory_order_relaxed);
    return station_->run().machine();
}

std::size_t Spread::workers() const { return station_ == nullptr ? 1 : static_cast<std::size_t>(station_->run().machine().targets()) + 1; }

void Spread::hold(std::shared_ptr<void> object) {
    if (station_ == nullptr) throw UsageError("tasks of a firing are issued inside the firing, in a running graph");
    if (!std::exchange(station_->spreading, true)) station_->tasks_left.store(1, std::memory_order_relaxed);
    station_->kept.push_back(std::move(object));
}

Spread::Task::~Task() { station_->leave_task(); }

void Spread::Task::failed() const {
    const std::lock_guard lock(station_->task_failure_lock);
    if (station_->task_failure == nullptr) station_->task_failure = std::current_exception();
}

namespace streaming {

// What the tasks wrote comes before their decrements (acq_rel), the last of which posts the mail (a release).
void Station::leave_task() {
    if (tasks_left.fetch_sub(1, std::memory_order_acq_rel) == 1) run_.post(*this, &tasks_done);
}

void Station::complete_spread() {
    spreading = false;
    kept.clear();
    if (auto failure = std::exchange(task_failure, nullptr)) fail(std::move(failure));
    if (loop != nullptr && loop_tokens_ != 0) run_.leave_loop(*loop, std::exchange(loop_tokens_, 0));
}

}  // namespace streaming
}  // namespace penstock
