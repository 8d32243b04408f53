// How the blocks of a pool come back to it from any thread, and how the pool learns that it may go.
//
// While the pool is open, blocks are pushed to a list that its owner takes as a whole. Closing leaves a mark in the
// list: what comes later is counted instead, and the last block ends the pool. How many are abroad is known only when
// the list has been closed and counted. The count therefore begins with a large guard, and close() takes the guard away
// in the same step in which it adds the blocks abroad: before that step no number of returns reaches zero.
//
// Happens-before. Everybody's last touch of the pool comes before its decrement (acq_rel). Read-modify-writes of one
// word form one release sequence, so whoever takes the count to zero has acquired all of them. For the list see
// push_list.hpp. tests/model/return_list_model_test.cpp checks this code, and finds what happens without the guard.
#pragma once

#include "penstock/detail/channel/push_list.hpp"

namespace penstock::streaming {

/// `guard`: more than can ever be abroad.
template <class Item, class Policy = StandardAtomics, std::int64_t guard = std::int64_t{1} << 62>
class ReturnList {
  public:
    // ---- any thread; whoever gives an item back, and whoever has said stay() ----

    /// False when the list is closed: the item stays the caller's, who says leave() for it. Else the pool may be gone
    /// from here on, unless the caller has said stay().
    bool give_back(Item* item) noexcept {
        return list_.push(item, [this, item](Item* newest) {
            if (newest == closed()) return false;
            item->next = newest;
            return true;
        });
    }
    /// The pool stays until the caller says leave().
    void stay() noexcept { left_.fetch_add(1, std::memory_order_relaxed); }
    /// True for the last, who must end the pool; nobody else touches it any more.
    bool leave() noexcept { return left_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

    // ---- the owner ----

    /// What has come back, linked by `next`, the newest first; null for nothing.
    Item* take_all() noexcept { return list_.take_all(nullptr); }
    /// The same for the last time: nothing comes into the list behind this.
    Item* close() noexcept { return list_.take_all(closed()); }
    /// Behind close(): `abroad` items have still to come back. True when the caller must end the pool.
    bool expect(std::int64_t abroad) noexcept {
        const auto less = guard - abroad;
        return left_.fetch_sub(less, std::memory_order_acq_rel) == less;
    }
    /// Has anything come back? seq_cst, for a caller that has just said that it starves.
    bool any() const noexcept { return list_.newest().load(std::memory_order_seq_cst) != nullptr; }
    bool any_relaxed() const noexcept { return list_.newest().load(std::memory_order_relaxed) != nullptr; }

  private:
    /// An address that is no item's.
    Item* closed() const noexcept { return reinterpret_cast<Item*>(const_cast<ReturnList*>(this)); }

    PushList<Item*, Policy> list_{nullptr};
    /// The guard and those who stay; once closed, the items abroad too
    typename Policy::template Atomic<std::int64_t> left_{guard};
};

}  // namespace penstock::streaming
