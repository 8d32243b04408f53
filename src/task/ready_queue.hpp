// task layer: the dependent tasks that became ready at one worker and that it has not run yet. Its worker takes the newest, whose data
// are warm; others take the oldest.
//
// A lock of one word, held for a few instructions: most tasks never come here (who completes a task runs one of its successors
// itself), and who only helps must be able to pass over tasks that are not its own, which a queue without a lock cannot offer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "penstock/dependent.hpp"
#include "penstock/relax.hpp"

namespace penstock {

struct Scope;

class ReadyQueue {
  public:
    ReadyQueue() = default;
    ReadyQueue(const ReadyQueue&) = delete;
    ReadyQueue& operator=(const ReadyQueue&) = delete;

    /// One load of a line that rarely changes while there is nothing.
    bool inviting() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }

    /// Any thread.
    void push(DependentNode& node) {
        const Locked locked(lock_);
        const auto count = count_.load(std::memory_order_relaxed);
        if (count == buffer_.size()) grow(count);
        at(first_ + count) = &node;
        count_.store(count + 1, std::memory_order_relaxed);
    }
    /// The task pushed last, of this scope unless it is null; null when there is none.
    DependentNode* take_newest(const Scope* only) noexcept { return take(only, true); }
    DependentNode* take_oldest(const Scope* only) noexcept { return take(only, false); }
    /// Is there one of this scope?
    bool holds(const Scope& scope) noexcept;

  private:
    class Locked {
      public:
        explicit Locked(std::atomic<bool>& lock) noexcept : lock_(lock) {
            for (int looks = 0; lock_.exchange(true, std::memory_order_acquire);) {
                while (lock_.load(std::memory_order_relaxed)) {
                    if (++looks % 64 == 0) std::this_thread::yield();  // its holder may have lost its processor
                    relax();
                }
            }
        }
        ~Locked() { lock_.store(false, std::memory_order_release); }
        Locked(const Locked&) = delete;
        Locked& operator=(const Locked&) = delete;

      private:
        std::atomic<bool>& lock_;
    };

    DependentNode*& at(std::size_t place) noexcept { return buffer_[place & (buffer_.size() - 1)]; }
    DependentNode* take(const Scope* only, bool newest) noexcept;
    void grow(std::size_t count);

    alignas(128) std::atomic<bool> lock_{false};
    std::atomic<std::size_t> count_{0};  ///< written under the lock
    std::size_t first_ = 0;
    std::vector<DependentNode*> buffer_;  ///< a power of two
};

}  // namespace penstock
