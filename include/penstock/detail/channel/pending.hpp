// task layer: one ring of an initiator's pending deque. Its owner appends; whoever is free claims from the other end.
//
// What an initiator issues beyond what its targets can start at once waits here (contract 2), so that uneven tasks
// balance: a target that runs out of work claims the oldest tasks, a few at a time, and the owner does the same while
// it helps. Records are the same self-sequenced lines as a channel's. How many have been appended stands beside how
// many have been claimed, so a claimant that looks moves one line, whatever it finds: asking the records themselves
// moved up to five, and took lines of records to come from the owner. The only read-modify-write is the claim, once for
// several tasks.
//
// Happens-before.
//   append    payload writes -> ready_.store(release) -> ready_.load(acquire) by a claimant -> its payload reads
//             (workers in other processes acquire through the record's sequence, which is stored before)
//   claim     head_ is moved by compare-and-swap and only grows. Whoever moves it from h to h+n owns the records h+1 ..
//             h+n: they had been appended when it looked, and a record is overwritten only after it was claimed and
//             completed, so a claimant that looked at old records finds that head_ has moved, and its compare-and-swap
//             fails. No ABA: head_ never repeats.
//   complete  all that the task wrote -> done.store(release) -> done.load(acquire) by a waiter or by the owner before
//             it reuses the slot. The done words stand apart from the records, eight to a line, so that a claimant
//             never writes a record's line (that cost a further transfer a task). Every claimant also counts what it
//             completed in a line of its own (Completed), once for each claim: the owner's barrier sums these few lines
//             instead of reading every done word.
//   return    claimed tasks that have not begun can be given back: one bit a slot says so. Who clears a bit owns the
//             task; it cannot be overwritten before it has run, so the slot says which one it is. Payload and number
//             come through the claim of who gives back -> fetch_or(release) -> fetch_and(acquire) by who takes it.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "penstock/detail/channel/channel.hpp"
#include "penstock/detail/machine/relax.hpp"

namespace penstock {

/// How many tasks of one ring one claimant has completed. Written by that claimant alone.
template <class Policy = StandardAtomics>
struct alignas(64) Completed {
    typename Policy::template Atomic<std::uint64_t> count{0};
};

/// The number of the last task completed in one slot. Written by whoever claimed it.
template <class Policy = StandardAtomics>
struct Done {
    typename Policy::template Atomic<std::uint64_t> number{0};
};

template <class Payload, class Policy = StandardAtomics>
class PendingRing {
  public:
    using RecordType = Record<Payload, Policy>;
    using CompletedType = Completed<Policy>;
    using DoneType = Done<Policy>;

    /// The owner asks for a record's line this many tasks before it fills it.
    static constexpr std::uint32_t lines_ahead = 8;

    /// A run of claimed records: numbers first .. first + count - 1. Empty when count is 0.
    struct Claim {
        std::uint64_t first = 0;
        std::uint32_t count = 0;
    };

    /// Slots that given-back tasks lie in, a bit each.
    using ReturnedType = typename Policy::template Atomic<std::uint64_t>;
    static constexpr std::uint32_t words_for(std::uint32_t capacity) noexcept { return (capacity + 63) / 64; }

    /// `slots` and `done`: `capacity` of each (a power of two). `completed`: one line for each of `claimants`, the last
    /// of which stands for all who have none of their own. `returned`: words_for(capacity), all 0.
    PendingRing(RecordType* slots, DoneType* done, std::uint32_t capacity, CompletedType* completed,
                std::uint32_t claimants, ReturnedType* returned)
        : slots_(slots), done_(done), completed_(completed), returned_slots_(returned), mask_(capacity - 1),
          claimants_(claimants), room_until_(capacity) {}

    std::uint32_t capacity() const noexcept { return mask_ + 1; }
    std::uint32_t slot(std::uint64_t number) const noexcept { return static_cast<std::uint32_t>(number - 1) & mask_; }
    RecordType& record(std::uint64_t number) const noexcept { return slots_[slot(number)]; }

    // ---- the owner ----

    std::uint64_t appended() const noexcept { return tail_; }

    /// The record to fill next, or nullptr when the slot's last task has not completed yet.
    RecordType* reserve() noexcept {
        if (tail_ == room_until_ && !find_room()) return nullptr;
        // Taking a line back from whoever read it last takes a hundred times as long as writing it, so a few are always
        // under way.
        if (tail_ + lines_ahead < room_until_)
            prefetch_write(&slots_[static_cast<std::uint32_t>(tail_ + lines_ahead) & mask_]);
        return &slots_[static_cast<std::uint32_t>(tail_) & mask_];
    }

    /// Makes the reserved record claimable and returns its number.
    std::uint64_t append() noexcept {
        ++tail_;
        record(tail_).sequence.store(2 * tail_, std::memory_order_release);
        ready_.store(tail_, std::memory_order_release);
        return tail_;
    }

    /// True when every appended task has completed. Reads one line a claimant. An acquire of all that they wrote.
    bool drained() noexcept {
        if (free_from_ == tail_) return true;
        std::uint64_t sum = 0;
        for (std::uint32_t i = 0; i < claimants_; ++i) sum += completed_[i].count.load(std::memory_order_acquire);
        if (sum != tail_) return false;
        free_from_ = tail_;
        room_until_ = tail_ + mask_ + 1;
        return true;
    }

    /// Tasks appended that nobody has claimed, or that were given back, about.
    std::uint64_t waiting() const noexcept {
        const auto waiting = tail_ - head_.load(std::memory_order_relaxed) + returned_.load(std::memory_order_relaxed);
        return waiting < tail_ - free_from_ ? waiting : tail_ - free_from_;
    }

    /// True when the owner knows, without looking, that nothing is outstanding.
    bool known_empty() const noexcept { return free_from_ == tail_; }

    // ---- any claimant ----

    /// Is there something to claim? Loads of one line, which hit the private cache while nothing changes.
    bool inviting() const noexcept {
        return head_.load(std::memory_order_acquire) < ready_.load(std::memory_order_relaxed) ||
               returned_.load(std::memory_order_relaxed) != 0;
    }

    /// Tasks that nobody has claimed, about; of those given back none.
    std::uint64_t unclaimed() const noexcept {
        const auto head = head_.load(std::memory_order_relaxed), ready = ready_.load(std::memory_order_acquire);
        return head < ready ? ready - head : 0;
    }

    /// Claims at most `most` of the oldest tasks, and of those seen waiting the `share`-th part, rounded up (so that
    /// the last ones are spread over all who are free: guided self-scheduling), or `least` where that is more. Empty
    /// when there is none or another was faster.
    Claim claim(std::uint32_t most, std::uint32_t share, std::uint32_t least = 1) noexcept {
        if (returned_.load(std::memory_order_relaxed) != 0) [[unlikely]]
            if (const Claim one = claim_returned(); one.count != 0) return one;
        auto head = head_.load(std::memory_order_relaxed);
        const auto ready = ready_.load(std::memory_order_acquire);
        if (head >= ready) return {};  // or others have claimed beyond what this thread has seen appended
        const auto waiting = ready - head;
        const auto part =
            std::max<std::uint64_t>((waiting + share - 1) / share, std::min<std::uint64_t>(least, waiting));
        const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(part, most));
        // Relaxed is enough: the payloads are acquired through ready_, and head_ hands over nothing else.
        if (!head_.compare_exchange_strong(head, head + count, std::memory_order_relaxed, std::memory_order_relaxed))
            return {};
        return {head + 1, count};
    }

    /// The caller is about to claim: brings near for writing what it will look at first.
    void fetch_to_claim() const noexcept { prefetch_write(&head_); }

    /// Claims this task alone, wherever it waits; those before it are given back. Empty when somebody has it.
    Claim claim_exactly(std::uint64_t number) noexcept {
        auto head = head_.load(std::memory_order_relaxed);
        while (head < number) {
            if (number > ready_.load(std::memory_order_acquire)) return {};
            // Counted before they leave the head: nobody may find nothing here and go to sleep.
            const auto before = number - head - 1;
            const bool alone = returned_.fetch_add(before, std::memory_order_relaxed) == 0;
            if (!head_.compare_exchange_strong(head, number, std::memory_order_release, std::memory_order_relaxed)) {
                returned_.fetch_sub(before, std::memory_order_relaxed);
                continue;
            }
            if (before != 0) mark_returned(number - before, number, alone);
            return {number, 1};
        }
        const auto found = take_returned(slot(number));
        if (found == number) return {number, 1};
        if (found != 0) give_back(found, found + 1);  // a later one, in the same slot
        return {};
    }

    /// Might claim_exactly() succeed?
    bool claimable(std::uint64_t number) const noexcept {
        const auto where = slot(number);
        return head_.load(std::memory_order_relaxed) < number ||
               (returned_slots_[where / 64].load(std::memory_order_relaxed) >> where % 64 & 1) != 0;
    }

    /// Whoever has claimed the tasks from `first` on, up to before `end`, and has not begun them, lets others have
    /// them.
    void give_back(std::uint64_t first, std::uint64_t end) noexcept {
        mark_returned(first, end, returned_.fetch_add(end - first, std::memory_order_relaxed) == 0);
    }

    /// Brings the lines of claimed records near, all at once: one after the other each would cost a transfer's whole
    /// latency.
    void fetch(Claim claim) const noexcept {
        for (std::uint32_t i = 0; i < claim.count; ++i) prefetch_read(&record(claim.first + i));
    }

    /// Completes one claimed task for those who wait for it alone.
    void complete(std::uint64_t number) noexcept {
        done_[slot(number)].number.store(number, std::memory_order_release);
    }
    /// Completes a whole claim for the owner's barrier. `claimant` is the caller's own index.
    void complete_claim(Claim claim, std::uint32_t claimant) noexcept {
        auto& mine = completed_[claimant].count;
        if (claimant + 1 == claimants_) mine.fetch_add(claim.count, std::memory_order_release);
        else mine.store(mine.load(std::memory_order_relaxed) + claim.count, std::memory_order_release);
    }

    // ---- any thread ----

    /// Has task `number` completed? A slot that has completed a later task has completed the earlier one.
    bool completed(std::uint64_t number) const noexcept {
        return done_[slot(number)].number.load(std::memory_order_acquire) >= number;
    }

  private:
    /// Cold: no free slot is known, so follow the done words as far as they go. They lie eight to a line, so looking
    /// far once moves fewer lines than looking at each slot's word when it is needed.
    bool find_room() noexcept {
        while (free_from_ != tail_ && completed(free_from_ + 1)) ++free_from_;
        room_until_ = free_from_ + mask_ + 1;
        return tail_ != room_until_;
    }

    /// Counted before. `alone`: there were no others.
    void mark_returned(std::uint64_t first, std::uint64_t end, bool alone) noexcept {
        if (alone || first < oldest_returned_.load(std::memory_order_relaxed))
            oldest_returned_.store(first, std::memory_order_relaxed);
        for (auto number = first; number < end;) {
            const auto where = slot(number);
            const auto left = end - number;
            const auto in_word =
                std::uint64_t{64} - where % 64 < left ? 64 - where % 64 : static_cast<std::uint32_t>(left);
            const auto count = in_word < capacity() - where ? in_word : capacity() - where;
            const auto bits = (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << where % 64;
            returned_slots_[where / 64].fetch_or(bits, std::memory_order_release);
            number += count;
        }
    }

    /// One that was given back, the oldest first (about, where several threads give back and take).
    Claim claim_returned() noexcept {
        const auto words = words_for(capacity());
        const auto oldest = slot(oldest_returned_.load(std::memory_order_relaxed));
        const auto from_oldest = ~std::uint64_t{0} << oldest % 64;
        for (std::uint32_t looked = 0; looked <= words; ++looked) {
            const auto word = (oldest / 64 + looked) & (words - 1);
            auto bits = returned_slots_[word].load(std::memory_order_relaxed);
            if (looked == 0) bits &= from_oldest;
            if (looked == words) bits &= ~from_oldest;
            for (; bits != 0; bits &= bits - 1) {
                const auto number = take_returned(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
                if (number == 0) continue;
                oldest_returned_.store(number, std::memory_order_relaxed);
                return {number, 1};
            }
        }
        return {};
    }

    /// The number of the task in this slot, which is the caller's from here on, or 0.
    std::uint64_t take_returned(std::uint32_t where) noexcept {
        const auto bit = std::uint64_t{1} << where % 64;
        auto& word = returned_slots_[where / 64];
        if ((word.load(std::memory_order_relaxed) & bit) == 0 ||
            (word.fetch_and(~bit, std::memory_order_acquire) & bit) == 0)
            return 0;
        returned_.fetch_sub(1, std::memory_order_relaxed);
        return slots_[where].sequence.load(std::memory_order_relaxed) >> 1;
    }

    // Written once.
    RecordType* slots_;
    DoneType* done_;
    CompletedType* completed_;
    ReturnedType* returned_slots_;
    std::uint32_t mask_;
    std::uint32_t claimants_;
    // The owner's.
    alignas(128) std::uint64_t tail_ = 0;  ///< tasks appended
    std::uint64_t room_until_ = 0;         ///< slots are known to be free until this many tasks have been appended
    std::uint64_t free_from_ = 0;          ///< all tasks up to here are known to be complete
    // The claimants', and what the owner tells them.
    alignas(128) typename Policy::template Atomic<std::uint64_t> head_{0};  ///< tasks claimed
    typename Policy::template Atomic<std::uint64_t> ready_{0};              ///< owner: tasks appended
    typename Policy::template Atomic<std::uint64_t> returned_{0};           ///< tasks given back, or about to be
    typename Policy::template Atomic<std::uint64_t> oldest_returned_{1};    ///< about
};

}  // namespace penstock
