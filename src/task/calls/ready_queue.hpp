// task layer: the dependent tasks that became ready at one worker and that it has not run yet. Its worker takes the
// newest, whose data are warm; others take the oldest.
//
// A lock of one word, held for a few instructions: most tasks never come here (who completes a task runs one of its
// successors itself), and who only helps must be able to pass over tasks that are not its own, which a queue without a
// lock cannot offer. What a push and a take cost is the transfer of a line, so the lock, the counts and the first few
// places share one; and a worker with nothing to do takes several at once into its own queue. A profile of `./bench
// dependences` showed about 4 % of a stencil task's time in this queue, its lock included.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/spin_lock.hpp"
#include "penstock/detail/task/dependent.hpp"

namespace penstock {

struct Scope;

class ReadyQueue {
  public:
    ReadyQueue() = default;
    ReadyQueue(const ReadyQueue&) = delete;
    ReadyQueue& operator=(const ReadyQueue&) = delete;

    /// One load of a line that rarely changes while there is nothing.
    bool inviting() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }

    std::uint32_t size() const noexcept { return count_.load(std::memory_order_relaxed); }

    /// Any thread.
    void push(DependentNode& node) {
        DependentNode* const one = &node;
        push(std::span(&one, 1));
    }
    /// The last of them is the newest.
    void push(std::span<DependentNode* const> nodes);
    /// The task pushed last, of this scope unless it is null; null when there is none.
    DependentNode* take_newest(const Scope* only) noexcept { return take(only, true); }
    DependentNode* take_oldest(const Scope* only) noexcept { return take(only, false); }
    /// The oldest, as many as fit into `room` but no more than half (so that others get some too), and one at least.
    /// How many.
    std::size_t take_oldest(std::span<DependentNode*> room) noexcept;
    /// Is there one of this scope?
    bool holds(const Scope& scope) noexcept;

  private:
    static constexpr std::uint32_t near_places = 4;

    DependentNode*& at(std::uint32_t place) noexcept { return places_[place & mask_]; }
    DependentNode* take(const Scope* only, bool newest) noexcept;
    void set_count(std::uint32_t count) noexcept;
    void grow(std::uint32_t count);

    // One line.
    alignas(128) SpinLock lock_;
    std::atomic<std::uint32_t> count_{0};  ///< written under the lock
    std::uint32_t first_ = 0;
    std::uint32_t mask_ = near_places - 1;
    DependentNode** places_ = near_.data();
    std::array<DependentNode*, near_places> near_{};
    // And what it does not hold.
    alignas(64) std::vector<DependentNode*> far_;  ///< a power of two
};

}  // namespace penstock
