#include "stream/run/timer_thread.hpp"

#include <system_error>
#include <utility>

#include "penstock/error.hpp"

namespace penstock::streaming {

void TimerThread::at(Time time, std::function<void()> work) {
    const std::lock_guard lock(lock_);
    if (stopping_) return;
    due_.emplace(time, std::move(work));
    if (!thread_.joinable()) {
        try {
            thread_ = std::thread([this] { serve(); });
        } catch (const std::system_error& error) {
            due_.clear();
            throw SystemError("cannot start the thread that makes the edits of filters", error.code().value());
        }
    }
    changed_.notify_one();
}

void TimerThread::stop() {
    std::thread thread;
    {
        const std::lock_guard lock(lock_);
        stopping_ = true;
        due_.clear();
        thread = std::move(thread_);
        changed_.notify_one();
    }
    if (thread.joinable()) thread.join();
}

void TimerThread::serve() {
    std::unique_lock lock(lock_);
    while (!stopping_) {
        if (due_.empty()) {
            changed_.wait(lock);
        } else if (const auto first = due_.begin(); first->first > std::chrono::steady_clock::now()) {
            changed_.wait_until(lock, Time(first->first));
        } else {
            const auto work = std::move(first->second);
            due_.erase(first);
            lock.unlock();
            work();
            lock.lock();
        }
    }
}

}  // namespace penstock::streaming
