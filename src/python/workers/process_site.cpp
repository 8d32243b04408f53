#include "python/workers/process_site.hpp"

#include <chrono>
#include <exception>
#include <thread>

#include "penstock/error.hpp"

namespace penstock::python {

ProcessSite::~ProcessSite() {
    const std::lock_guard lock(watch_->lock);
    watch_->stopping = true;
    watch_->changed.notify_one();
}

void ProcessSite::bind(const std::shared_ptr<WorkerPool>& pool, int workers) {
    const std::lock_guard lock(watch_->lock);
    watch_->pool = pool;
    workers_ = workers;
}

std::shared_ptr<WorkerPool> ProcessSite::pool() const {
    const std::lock_guard lock(watch_->lock);
    auto pool = watch_->pool.lock();
    if (pool == nullptr)
        throw MachineGone("the machine of this filter was closed; start the graph on one that is open");
    return pool;
}

void ProcessSite::issued() {
    const std::lock_guard lock(watch_->lock);
    ++watch_->out;
    if (!std::exchange(watch_->serving, true)) std::thread([watch = watch_] { serve(watch); }).detach();
    watch_->changed.notify_one();
}

void ProcessSite::returned() {
    const std::lock_guard lock(watch_->lock);
    --watch_->out;
}

void ProcessSite::serve(const std::shared_ptr<Watch>& watch) {
    for (;;) {
        std::weak_ptr<WorkerPool> known;
        {
            std::unique_lock lock(watch->lock);
            watch->changed.wait(lock, [&] { return watch->stopping || watch->out != 0; });
            if (watch->stopping && watch->out == 0) return;
            known = watch->pool;
        }
        if (!nb::is_alive()) return;
        const nb::gil_scoped_acquire acquire;
        try {
            // Waits without the interpreter's lock, and runs the call-backs of what has completed.
            if (const auto pool = known.lock()) pool->wait_for_any(std::chrono::milliseconds{100});
        } catch (const std::exception&) {
            return;  // in a child of fork, where nothing comes back any more
        }
    }
}

}  // namespace penstock::python
