// task layer: the mailbox of an initiator. Whoever completes a task that asked for it posts the task's index here, so
// that the initiator looks at one word for any number of outstanding tasks, and learns which of them have completed.
//
// A list of indices, linked through words of the caller (push_list.hpp).
//
// Happens-before.
//   post   the task's results and its completion -> the push -> the owner, who takes all -> what it does with the task.
//   sleep  the owner stores armed_, then looks at the list; a poster pushes, then looks at armed_. All four are
//          seq_cst, so at least one of them sees the other: either the owner finds the post and stays awake, or the
//          poster finds the mark and signals.
#pragma once

#include <atomic>
#include <cstdint>

#include "penstock/detail/channel/push_list.hpp"

namespace penstock {

template <class Policy = StandardAtomics>
class CompletionMailbox {
  public:
    using Word = typename Policy::template Atomic<std::uint32_t>;

    // ---- any thread ----

    /// Posts `index` (not 0), whose `link` belongs to the list until the owner has taken it.
    void post(std::uint32_t index, Word& link) noexcept {
        posted_.push(index, [&link](std::uint32_t newest) {
            link.store(newest, std::memory_order_relaxed);
            return true;
        });
    }
    /// After a post: true when the owner sleeps, or is about to, and the caller is the one that must signal it.
    bool must_signal() noexcept {
        return armed_.load(std::memory_order_seq_cst) != 0 && armed_.exchange(0, std::memory_order_seq_cst) != 0;
    }

    bool empty() const noexcept { return posted_.newest().load(std::memory_order_relaxed) == 0; }

    // ---- the owner ----

    /// Takes all that was posted: the newest index, from which the links lead to the older ones up to 0.
    std::uint32_t take() noexcept { return empty() ? 0 : posted_.take_all(0); }

    /// From now on the next post that asks must_signal() signals. False when something has been posted already.
    bool arm() noexcept {
        armed_.store(1, std::memory_order_seq_cst);
        if (posted_.newest().load(std::memory_order_seq_cst) == 0) return true;
        armed_.store(0, std::memory_order_seq_cst);  // a poster may have seen the mark: its signal comes for nothing
        return false;
    }

  private:
    alignas(128) PushList<std::uint32_t, Policy> posted_{0};
    Word armed_{0};
};

}  // namespace penstock
