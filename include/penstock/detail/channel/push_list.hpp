// channel layer: a list that any thread pushes to, and from which somebody takes everything at once. The links lie in
// the items.
//
// The list is one word: whatever its user takes for the newest item (an address, an index), or a mark of the user's
// own, for example for "empty" and "closed". A push is one compare-and-swap, taking one exchange.
//
// Happens-before.
//   push   the item and its link -> the compare-and-swap (release) -> the exchange of whoever takes (acquire). Pushes
//          are read-modify-writes of one word, so the exchange that finds the newest item is ordered after the push of
//          each item below it.
//   mark   what the taker wrote -> its exchange, which leaves a mark (release) -> the push that finds the mark
//          (acquire).
//   again  a push needs only that the word is what it wrote into the link. So it does no harm that the list was taken
//          and filled again between the two, and items may come back as soon as they have been taken.
// The compare-and-swap is sequentially consistent for users who look at another word behind it (whether somebody
// sleeps, or starves). tests/model checks this code in each of its users: completion_mailbox, mail, dependence and
// return_list.
#pragma once

#include <atomic>

#include "penstock/detail/channel/channel.hpp"

namespace penstock {

template <class Item, class Policy = StandardAtomics>
class PushList {
  public:
    using Word = typename Policy::template Atomic<Item>;

    constexpr explicit PushList(Item mark) noexcept : newest_(mark) {}

    /// Any thread. `link(newest)` stores what the list is now as the item's link; false: nothing is pushed, because
    /// that was a mark that says so. It may be called several times. False when nothing was pushed.
    template <class Link>
    bool push(Item item, Link&& link) noexcept {
        auto newest = newest_.load(std::memory_order_acquire);
        while (link(newest))
            if (newest_.compare_exchange_weak(newest, item, std::memory_order_seq_cst, std::memory_order_acquire))
                return true;
        return false;
    }
    /// Takes all, and leaves this mark: the newest item, whose link leads to the older ones.
    Item take_all(Item mark) noexcept { return newest_.exchange(mark, std::memory_order_acq_rel); }
    /// For what its user does with marks alone.
    Word& newest() noexcept { return newest_; }
    const Word& newest() const noexcept { return newest_; }

  private:
    Word newest_;
};

}  // namespace penstock
