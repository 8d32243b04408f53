// store layer: the queue of a lock in which each waiter spins on a line of its own (Mellor-Crummey and Scott 1991).
//
// Nodes are named by the number of their rank plus one, not by address, because processes map them at different places. The tail
// lies at one rank, each node at its own: a waiter's predecessor stores into the waiter's memory, and nobody loads from afar.
//
// Happens-before. The critical section -> blocked.store(0, release) by the holder -> load(acquire) by its successor; or, where
// nobody waited, -> last.compare_exchange(release) -> last.exchange(acquire) by the next. A node is reset before the exchange
// that puts it into the queue (release), and its predecessor finds it by `next` (release, acquire), so the predecessor's store
// comes after the reset. QueueLock is a template over the atomic type: tests/model checks this code.
#pragma once

#include <atomic>
#include <cstdint>

#include "penstock/channel.hpp"

namespace penstock {

/// Homed at its rank.
template <class Policy = StandardAtomics>
struct alignas(128) QueueNode {
    typename Policy::template Atomic<std::uint32_t> next{0};     ///< successor: its number, once it is behind this one
    typename Policy::template Atomic<std::uint32_t> blocked{0};  ///< own rank: 1 before it queues; predecessor: 0
    typename Policy::template Atomic<std::uint32_t> queued{0};   ///< own rank: 1 while it waits or holds; read when it dies
};

/// Homed at one of the ranks.
template <class Policy = StandardAtomics>
struct alignas(128) QueueTail {
    typename Policy::template Atomic<std::uint32_t> last{0};  ///< number of the last in the queue; 0: free
};

template <class Policy = StandardAtomics>
class QueueLock {
  public:
    using Node = QueueNode<Policy>;
    using Tail = QueueTail<Policy>;

    QueueLock() = default;
    /// `nodes`: where the node of each rank lies; the table outlives the lock.
    QueueLock(Tail* tail, Node* const* nodes, int index) noexcept
        : tail_(tail), nodes_(nodes), own_(nodes[index]), number_(static_cast<std::uint32_t>(index) + 1) {}

    /// `wait(poll)` returns when poll() is true.
    template <class Wait>
    void lock(Wait&& wait) {
        own_->queued.store(1, std::memory_order_relaxed);
        own_->next.store(0, std::memory_order_relaxed);
        own_->blocked.store(1, std::memory_order_relaxed);
        const auto before = tail_->last.exchange(number_, std::memory_order_acq_rel);
        if (before == 0) return;
        node(before).next.store(number_, std::memory_order_release);
        wait([this] { return own_->blocked.load(std::memory_order_acquire) == 0; });
    }

    bool try_lock() {
        own_->queued.store(1, std::memory_order_relaxed);
        own_->next.store(0, std::memory_order_relaxed);
        std::uint32_t free = 0;
        if (tail_->last.compare_exchange_strong(free, number_, std::memory_order_acq_rel, std::memory_order_relaxed))
            return true;
        own_->queued.store(0, std::memory_order_relaxed);
        return false;
    }

    /// `wait(poll)` returns false when it gave up, `tell(index)` wakes the rank that has the lock now.
    template <class Wait, class Tell>
    void unlock(Wait&& wait, Tell&& tell) {
        auto next = own_->next.load(std::memory_order_acquire);
        if (next == 0) {
            auto last = number_;
            if (tail_->last.compare_exchange_strong(last, 0, std::memory_order_release, std::memory_order_relaxed)) {
                own_->queued.store(0, std::memory_order_relaxed);
                return;
            }
            // Somebody is about to queue behind this node.
            if (!wait([this, &next] { return (next = own_->next.load(std::memory_order_acquire)) != 0; })) return;
        }
        node(next).blocked.store(0, std::memory_order_release);
        own_->queued.store(0, std::memory_order_relaxed);
        tell(static_cast<int>(next) - 1);
    }

  private:
    Node& node(std::uint32_t number) const { return *nodes_[number - 1]; }

    Tail* tail_ = nullptr;
    Node* const* nodes_ = nullptr;
    Node* own_ = nullptr;
    std::uint32_t number_ = 0;
};

}  // namespace penstock
