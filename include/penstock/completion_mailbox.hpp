// task layer: the mailbox of an initiator. Whoever completes a task that asked for it posts the task's index here, so that the initiator
// looks at one word for any number of outstanding tasks, and learns which of them have completed.
//
// A list of indices, linked through words of the caller: posting is one compare-and-swap, taking all of it one exchange.
//
// Happens-before.
//   post   the task's results and its completion, the link -> head_ compare_exchange(seq_cst, so release) -> head_.exchange(acquire) by the
//          owner -> what it does with the task. Posts are read-modify-writes of one word, so the exchange that takes the newest is
//          ordered after every post below it as well (they head release sequences that it continues). Only the owner takes, and it
//          takes everything: no index comes back into the list before it was out of it, so a poster's compare-and-swap cannot mistake one
//          list for another.
//   sleep  the owner stores armed_, then looks at head_; a poster changes head_, then looks at armed_. All four are seq_cst, so at least
//          one of them sees the other: either the owner finds the post and stays awake, or the poster finds the mark and signals.
#pragma once

#include <atomic>
#include <cstdint>

#include "penstock/channel.hpp"

namespace penstock {

template <class Policy = StandardAtomics>
class CompletionMailbox {
  public:
    using Word = typename Policy::template Atomic<std::uint32_t>;

    // ---- any thread ----

    /// Posts `index` (not 0), whose `link` belongs to the list until the owner has taken it.
    void post(std::uint32_t index, Word& link) noexcept {
        auto head = head_.load(std::memory_order_relaxed);
        do link.store(head, std::memory_order_relaxed);
        while (!head_.compare_exchange_strong(head, index, std::memory_order_seq_cst, std::memory_order_relaxed));
    }
    /// After a post: true when the owner sleeps, or is about to, and the caller is the one that must signal it.
    bool must_signal() noexcept {
        return armed_.load(std::memory_order_seq_cst) != 0 && armed_.exchange(0, std::memory_order_seq_cst) != 0;
    }

    bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == 0; }

    // ---- the owner ----

    /// Takes all that was posted: the newest index, from which the links lead to the older ones up to 0.
    std::uint32_t take() noexcept { return empty() ? 0 : head_.exchange(0, std::memory_order_acquire); }

    /// From now on the next post that asks must_signal() signals. False when something has been posted already.
    bool arm() noexcept {
        armed_.store(1, std::memory_order_seq_cst);
        if (head_.load(std::memory_order_seq_cst) == 0) return true;
        armed_.store(0, std::memory_order_seq_cst);  // a poster may have seen the mark: its signal comes for nothing
        return false;
    }

  private:
    alignas(128) Word head_{0};
    Word armed_{0};
};

}  // namespace penstock
