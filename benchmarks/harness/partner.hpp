// A second thread, kept on a processor of its own, that does its half of an exchange when asked and sleeps otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "harness/processors.hpp"

namespace bench {

/// Give it work with start(), wait for the end with join(). It sleeps in between, so it disturbs nobody else's batch.
class Partner {
  public:
    explicit Partner(int processor) : thread_([this, processor] { live(processor); }) {}
    ~Partner() {
        start({});
        thread_.join();
    }
    Partner(const Partner&) = delete;
    Partner& operator=(const Partner&) = delete;

    /// Hands over the work and returns when the partner has begun, so that its waking is not measured. Empty work ends
    /// it.
    void start(std::function<void()> work) {
        work_ = std::move(work);
        const bool last = !work_;
        state_.store(given, std::memory_order_release);
        state_.notify_one();
        while (!last && state_.load(std::memory_order_acquire) == given) std::this_thread::yield();
    }
    void join() {
        while (state_.load(std::memory_order_acquire) != idle) std::this_thread::yield();
    }

  private:
    enum State { idle, given, begun };

    void live(int processor) {
        pin_this_thread(processor);
        for (;;) {
            state_.wait(idle, std::memory_order_acquire);
            if (!work_) return;
            state_.store(begun, std::memory_order_release);
            work_();
            state_.store(idle, std::memory_order_release);
        }
    }

    std::function<void()> work_;
    std::atomic<State> state_{idle};
    std::thread thread_;
};

}  // namespace bench
