// A thread that does things at their times, beside the filters of a run: timers, and edits that filters asked for. Made
// when it is first needed; no buffer passes by it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "penstock/error.hpp"

namespace penstock::streaming {

class TimerThread {
  public:
    using Time = std::chrono::steady_clock::time_point;

    ~TimerThread() { stop(); }

    /// Does `work` at that time, or at once. Dropped behind stop(). Throws SystemError.
    void at(Time time, std::function<void()> work) {
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
    /// Returns when nothing is being done, and nothing will be.
    void stop() {
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

  private:
    void serve() {
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

    std::mutex lock_;
    std::condition_variable changed_;
    std::multimap<Time, std::function<void()>> due_;
    std::thread thread_;
    bool stopping_ = false;
};

}  // namespace penstock::streaming
