// A lock for sections of a few dozen instructions that never block and call nobody.
#pragma once

#include <atomic>

#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/machine/waiter.hpp"

namespace penstock {

class SpinLock {
  public:
    void lock() noexcept {
        for (int looks = 0; locked_.exchange(true, std::memory_order_acquire);) {
            while (locked_.load(std::memory_order_relaxed)) {
                relax();
                if (++looks % 64 == 0) waiting::yield();  // its owner may have lost the processor
            }
        }
    }
    bool try_lock() noexcept {
        return !locked_.load(std::memory_order_relaxed) && !locked_.exchange(true, std::memory_order_acquire);
    }
    void unlock() noexcept { locked_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> locked_{false};
};

}  // namespace penstock
