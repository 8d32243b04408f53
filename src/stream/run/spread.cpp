#include "penstock/spread.hpp"

#include "penstock/error.hpp"
#include "stream/run/run_core.hpp"
#include "stream/run/station.hpp"

namespace penstock {

Machine& Spread::begin_task() {
    if (station_ == nullptr || station_->doing.load(std::memory_order_relaxed) != streaming::Doing::firing)
        throw UsageError("tasks of a firing are issued inside the firing, in a running graph");
    if (!std::exchange(station_->spreading, true)) station_->tasks_left.store(1, std::memory_order_relaxed);
    station_->tasks_left.fetch_add(1, std::memory_order_relaxed);
    return station_->run().machine();
}

std::size_t Spread::workers() const {
    return station_ == nullptr ? 1 : static_cast<std::size_t>(station_->run().machine().targets()) + 1;
}

void Spread::hold(std::shared_ptr<void> object) {
    // in a worker process
    if (at_once_ != nullptr && station_ == nullptr) return at_once_->push_back(std::move(object));
    if (station_ == nullptr) throw UsageError("tasks of a firing are issued inside the firing, in a running graph");
    if (!std::exchange(station_->spreading, true)) station_->tasks_left.store(1, std::memory_order_relaxed);
    station_->kept.push_back(std::move(object));
}

Spread::Task::~Task() { station_->leave_task(); }

void Spread::Task::failed() const { station_->note_task_failure(std::current_exception()); }

Spread::Ticket::~Ticket() {
    if (station_ != nullptr) station_->leave_task();
}

void Spread::Ticket::fail(std::exception_ptr cause) { station_->note_task_failure(std::move(cause)); }

namespace streaming {

// What the tasks wrote comes before their decrements (acq_rel), the last of which posts the mail (a release).
void Station::leave_task() {
    if (tasks_left.fetch_sub(1, std::memory_order_acq_rel) == 1) run_.post(*this, &tasks_done);
}

void Station::note_task_failure(std::exception_ptr cause) {
    const std::lock_guard lock(task_failure_lock);
    if (task_failure == nullptr) task_failure = std::move(cause);
}

void Station::complete_spread() {
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
    if (filter_->completes_later && several_copies) pass_on_order();
    spreading = false;
}

}  // namespace streaming
}  // namespace penstock
