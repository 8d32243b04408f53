// task layer: how a worker process claims tasks from a deque so that its death at any instruction loses none and gives
// none away twice.
//
// Threads claim by one compare-and-swap (pending.hpp). A process that is killed right behind it would take along what
// it had claimed, so a worker claims under a word that names it, and writes into its own note what it is about to claim
// before it does:
//
//   hold      holder: 0 -> its number, by compare-and-swap; whoever finds it held looks elsewhere
//   intend    note.first, note.end, then note.state = intended
//   move      head: first - 1 -> end - 1, one store
//   own       note.state = owned, then holder = 0
//
// Who buries a worker finds one of these steps. A holder that names the dead has kept everybody else out, so the head
// still tells whether an intended claim was made; owned claims are the note's; the rest was never claimed.
//
// Happens-before. holder.store(release) -> holder's compare-and-swap(acquire) by the next claimant -> its load of head.
// The payloads are acquired through the records' sequences, as for threads. Who buries has it from the kernel that the
// process has ended: all that it stored is there, in an order that the releases keep.
#pragma once

#include "penstock/detail/channel/channel.hpp"

namespace penstock {

/// The part of a deque that its claimants share. Written by whoever holds it.
template <class Policy = StandardAtomics>
struct alignas(128) Claims {
    /// Number of the worker that claims now, from 1; 0: none
    typename Policy::template Atomic<std::uint32_t> holder{0};
    typename Policy::template Atomic<std::uint64_t> head{0};  ///< tasks claimed
};

/// What one worker has claimed. Written by that worker; by who buries it, once it is dead.
template <class Policy = StandardAtomics>
struct ClaimNote {
    enum State : std::uint32_t { none, intended, owned };
    typename Policy::template Atomic<std::uint32_t> state{none};
    typename Policy::template Atomic<std::uint32_t> ring{0};   ///< index of the deque among the machine's
    typename Policy::template Atomic<std::uint64_t> first{0};  ///< first task of the claim
    typename Policy::template Atomic<std::uint64_t> end{0};    ///< one behind the last
};

/// Claims at most `most` of the oldest tasks, and at most the `share`-th part of those that wait. `valid(number)`: has
/// this task been appended (an acquire)? `me`: from 1. False when there is nothing, or another claims at this moment.
/// On success the note says what.
template <class Policy, class Valid>
bool claim_with_journal(Claims<Policy>& claims, ClaimNote<Policy>& note, std::uint32_t me, std::uint32_t ring,
                        std::uint32_t most, std::uint32_t share, Valid&& valid) noexcept {
    std::uint32_t nobody = 0;
    if (!valid(claims.head.load(std::memory_order_relaxed) + 1)) return false;
    if (!claims.holder.compare_exchange_strong(nobody, me, std::memory_order_acquire, std::memory_order_relaxed))
        return false;
    const auto head = claims.head.load(std::memory_order_relaxed);
    std::uint32_t count = most;
    while (count > 1 && !valid(head + std::uint64_t{count} * share)) count /= 2;
    const bool some = count > 1 || valid(head + 1);
    if (some) {
        note.ring.store(ring, std::memory_order_relaxed);
        note.first.store(head + 1, std::memory_order_relaxed);
        note.end.store(head + 1 + count, std::memory_order_relaxed);
        note.state.store(ClaimNote<Policy>::intended, std::memory_order_release);
        claims.head.store(head + count, std::memory_order_release);
        note.state.store(ClaimNote<Policy>::owned, std::memory_order_release);
    }
    claims.holder.store(0, std::memory_order_release);
    return some;
}

/// After the death of worker `me`: settles what it was about to claim in the deque that its note names, or that it
/// holds. Afterwards the note is `owned` or `none` and the deque free.
template <class Policy>
void settle_claim_of_the_dead(Claims<Policy>& claims, ClaimNote<Policy>& note, std::uint32_t me,
                              std::uint32_t ring) noexcept {
    if (claims.holder.load(std::memory_order_acquire) != me) return;
    if (note.state.load(std::memory_order_acquire) == ClaimNote<Policy>::intended &&
        note.ring.load(std::memory_order_relaxed) == ring) {
        const bool moved = claims.head.load(std::memory_order_acquire) + 1 == note.end.load(std::memory_order_relaxed);
        note.state.store(moved ? ClaimNote<Policy>::owned : ClaimNote<Policy>::none, std::memory_order_release);
    }
    claims.holder.store(0, std::memory_order_release);
}

}  // namespace penstock
