// task layer, internal: what must be stopped before a machine can end.
//
// A run of the stream layer gives its machine tasks for as long as it has something to do, which may be for ever.
// ~Machine waits until all tasks have ended; so it first stops whatever has said here that it must be stopped.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace penstock {

class Machine;

/// Shared by the machine and by those who entered, who may outlive it.
class MachineEnd {
  public:
    /// Gives a machine tasks until it is stopped.
    class Stoppable {
      public:
        /// Returns when it gives the machine nothing more to do. Called once at most, by the thread that ends the
        /// machine.
        virtual void stop_for_end() noexcept = 0;

      protected:
        ~Stoppable() = default;
    };

    static const std::shared_ptr<MachineEnd>& of(Machine& machine) noexcept;

    /// Throws std::bad_alloc.
    void enter(Stoppable& runs) {
        const std::lock_guard lock(lock_);
        entered_.push_back(&runs);
    }
    /// Waits while it is just being stopped. Does nothing for one that never entered.
    void leave(Stoppable& runs) noexcept {
        std::unique_lock lock(lock_);
        std::erase(entered_, &runs);
        changed_.wait(lock, [&] { return stopping_ != &runs; });
    }
    /// Stops all of them, also those that enter meanwhile. Not under the lock: what is stopped may have others begin
    /// and end.
    void stop_all() noexcept {
        std::unique_lock lock(lock_);
        while (!entered_.empty()) {
            stopping_ = entered_.back();
            entered_.pop_back();
            lock.unlock();
            stopping_->stop_for_end();
            lock.lock();
            stopping_ = nullptr;
            changed_.notify_all();
        }
    }

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::vector<Stoppable*> entered_;
    Stoppable* stopping_ = nullptr;
};

}  // namespace penstock
