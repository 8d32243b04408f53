// store layer: a lock with a queue in which each waiter spins on a line of its own (after Mellor-Crummey and Scott
// 1991), and whose owner may come back before the first of the queue.
//
// Handing a lock over in strict turn costs the way of several lines for each section: 260 ns where a pthread_mutex,
// which lets the owner come back, takes 50 (`./bench lock`, the two virtual processors far apart). So the lock itself
// is one word that whoever finds it free may take. Who does not queues up; only the first of the queue looks at that
// word, at growing intervals, so that the owner keeps the line. When its patience is at an end it makes itself the
// heir: then the next unlock gives the lock to it, and nobody comes in between. So nobody waits longer than as many
// patiences and sections as there are ranks before it.
//
// Nodes are named by the number of their rank plus one, not by address, because processes map them at different places.
// The word lies at one rank, each node at its own.
//
// Happens-before. The critical section -> holder.store(release), which frees the lock or names the heir -> the
// acquiring compare_exchange or load of the next one. A node is reset before the exchange that puts it into the queue
// (release), and its predecessor finds it by `next` (release, acquire), so the predecessor's store comes after the
// reset. A sleeper is not missed: who unlocks looks for an heir once before the store that frees the lock and once
// behind it; an heir names itself before it looks at the lock for the last time (parking.hpp). QueueLock is a template
// over the atomic type: tests/model checks this code.
#pragma once

#include <atomic>
#include <cstdint>

#include "penstock/detail/channel/channel.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// Homed at its rank.
template <class Policy = StandardAtomics>
struct alignas(128) QueueNode {
    typename Policy::template Atomic<std::uint32_t> next{0};     ///< successor: its number, once it is behind this one
    typename Policy::template Atomic<std::uint32_t> blocked{0};  ///< own rank: 1 before it queues; predecessor: 0
    /// Own rank: 1 while it waits or holds; read when it dies
    typename Policy::template Atomic<std::uint32_t> queued{0};
};

/// Homed at one of the ranks. The line of those that hold and the first that waits, and the line of those that queue
/// up.
template <class Policy = StandardAtomics>
struct alignas(128) QueueHead {
    typename Policy::template Atomic<std::uint32_t> holder{0};  ///< number of the one that has the lock; 0: free
    typename Policy::template Atomic<std::uint32_t> heir{0};    ///< first waiter: its number, when it must be the next
    /// Number of the last in the queue; 0: nobody waits
    alignas(128) typename Policy::template Atomic<std::uint32_t> last{0};
};

template <class Policy = StandardAtomics>
class QueueLock {
  public:
    using Node = QueueNode<Policy>;
    using Head = QueueHead<Policy>;

    QueueLock() = default;
    /// `nodes`: where the node of each of `size` ranks lies; the table outlives the lock.
    QueueLock(Head* head, Node* const* nodes, int index, int size) noexcept
        : head_(head), nodes_(nodes), own_(nodes[index]), number_(static_cast<std::uint32_t>(index) + 1),
          size_(static_cast<std::uint32_t>(size)) {}

    bool try_lock() {
        own_->queued.store(1, std::memory_order_relaxed);
        if (take()) return true;
        own_->queued.store(0, std::memory_order_relaxed);
        return false;
    }

    /// `pause(looks)` passes the time between two looks of the first waiter; false when its patience is at an end.
    /// `wait(poll)` returns when poll() is true. `tell(index)` wakes a rank.
    template <class Pause, class Wait, class Tell>
    void lock(Pause&& pause, Wait&& wait, Tell&& tell) {
        own_->queued.store(1, std::memory_order_relaxed);
        if (take()) return;
        own_->next.store(0, std::memory_order_relaxed);
        own_->blocked.store(1, std::memory_order_relaxed);
        const auto before = head_->last.exchange(number_, std::memory_order_acq_rel);
        if (before != 0) {
            node(before).next.store(number_, std::memory_order_release);
            wait([this] { return own_->blocked.load(std::memory_order_acquire) == 0; });
        }
        bool taken = false;
        for (int looks = 1; !(taken = take()) && pause(looks); ++looks) {
        }
        if (!taken) {
            const Heir heir(*head_, number_);
            wait([this] { return inherited() || take(); });
        }
        leave_queue(wait, tell);
    }

    /// `tell(index)` wakes a rank.
    template <class Tell>
    void unlock(Tell&& tell) {
        auto heir = head_->heir.load(std::memory_order_relaxed);
        head_->holder.store(heir, std::memory_order_release);
        if (heir == 0) heir = head_->heir.load(std::memory_order_relaxed);
        own_->queued.store(0, std::memory_order_relaxed);
        if (heir != 0 && heir <= size_) tell(static_cast<int>(heir) - 1);
    }

  private:
    /// The first waiter is the heir until its wait ends, in whatever way.
    struct Heir {
        Heir(Head& of, std::uint32_t number) : head(of) { head.heir.store(number, std::memory_order_relaxed); }
        ~Heir() { head.heir.store(0, std::memory_order_relaxed); }
        Heir(const Heir&) = delete;
        Heir& operator=(const Heir&) = delete;
        Head& head;
    };

    /// Numbers come from memory that others write (contract 19).
    Node& node(std::uint32_t number) const {
        if (number - 1 >= size_)
            throw Error("the words of a lock were overwritten: they name a rank that there is not");
        return *nodes_[number - 1];
    }

    bool take() {
        std::uint32_t free = 0;
        return head_->holder.load(std::memory_order_relaxed) == 0 &&
               head_->holder.compare_exchange_strong(free, number_, std::memory_order_acquire,
                                                     std::memory_order_relaxed);
    }
    bool inherited() const { return head_->holder.load(std::memory_order_acquire) == number_; }

    /// The holder makes its successor the first of the queue.
    template <class Wait, class Tell>
    void leave_queue(Wait&& wait, Tell&& tell) {
        auto next = own_->next.load(std::memory_order_acquire);
        if (next == 0) {
            auto last = number_;
            if (head_->last.compare_exchange_strong(last, 0, std::memory_order_acq_rel, std::memory_order_relaxed))
                return;
            // Somebody is about to queue behind this node.
            wait([this, &next] { return (next = own_->next.load(std::memory_order_acquire)) != 0; });
        }
        node(next).blocked.store(0, std::memory_order_release);
        tell(static_cast<int>(next) - 1);
    }

    Head* head_ = nullptr;
    Node* const* nodes_ = nullptr;
    Node* own_ = nullptr;
    std::uint32_t number_ = 0;
    std::uint32_t size_ = 0;
};

}  // namespace penstock
