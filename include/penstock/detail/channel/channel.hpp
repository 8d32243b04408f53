// channel layer: the one-producer one-consumer ring of 64-byte records on which lanes, messages and streams stand.
//
// A record is self-sequenced: the word `sequence` inside it says that it is valid, so there is no shared head or tail
// and a hand-off moves one cache line. Completion travels back in one of two ways, and the producer chooses for each
// record:
//
//   through the slot  the consumer writes `done` into the record's own line. As long as the channel is known to be
//                     empty the producer uses the same slot again and again, so that a lone exchange bounces a single
//                     line (floor F1).
//   through the line  the consumer counts completed records in a line homed at the producer (`Credits`). A stream of
//                     records walks round the ring and the producer looks at that line only when it has no credit left.
//
// Happens-before. Everything is a release store that is read by an acquire load; there are no read-modify-writes and no
// fences.
//   publish   payload writes -> sequence.store(release) -> sequence.load(acquire) by the consumer -> its payload reads
//   complete  the consumer's reads and all that the task wrote -> done or completed.store(release) -> load(acquire) by
//             the producer -> its next writes to that slot, and whatever the waiter does with the results
// The consumer looks only at the slot that it served last and the one after it, because the producer either stays (the
// channel was empty) or moves on by one. A slot is overwritten only after the producer has seen its completion.
// Sequences have 63 bits and never wrap in practice (at 5 ns a record: 1,400 years), so a stale record can never be
// taken for a new one.
//
// The two halves are templates over the atomic type: tests/model checks this very code in a model of the C++ memory
// order. `./bench floor` prints F1, F2 and the bare ring; `./bench null-task` what stands on them.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock {

/// Where records stand and what the consumer polls (TPC's two initiation mechanisms).
enum class Initiation : std::uint8_t {
    push,  ///< the producer stores the record into the consumer's memory; the consumer polls the record's sequence word
    pull,  ///< the record stays in the producer's memory; the consumer polls a doorbell and then loads the record
};

/// How a completion travels back (TPC's two completion mechanisms).
enum class Completion : std::uint8_t {
    /// Through the slot while the channel is empty, through the line in a stream. (`./bench paper tpc-null-task` has
    /// lone tasks: slot or line, neither is the faster one on every machine.)
    automatic,
    slot,  ///< always through the record's own line
    line,  ///< always through the completion line at the producer
};

/// The atomics of a running program. Model-checked builds pass another policy with the same two members.
struct StandardAtomics {
    template <class T>
    using Atomic = std::atomic<T>;
};

/// One record: who writes each word stands beside it. One cache line.
template <class Payload, class Policy = StandardAtomics>
struct alignas(64) Record {
    /// Producer: 2 x number of the record + completes in slot
    typename Policy::template Atomic<std::uint64_t> sequence{0};
    /// Consumer: number of the last record completed here
    typename Policy::template Atomic<std::uint64_t> done{0};
    Payload payload{};  ///< producer
};

/// The completion line, homed at the producer. Written by the consumer alone.
template <class Policy = StandardAtomics>
struct alignas(128) Credits {
    /// Number of the last record completed through the line
    typename Policy::template Atomic<std::uint64_t> completed{0};
};

/// The doorbell of a pulled channel, homed at the consumer. Written by the producer alone.
template <class Policy = StandardAtomics>
struct alignas(128) Issued {
    typename Policy::template Atomic<std::uint64_t> issued{0};
};

/// The three shared parts of a channel, wherever they lie (memory of this process or a mapping shared by two).
template <class Payload, class Policy = StandardAtomics>
struct ChannelParts {
    Record<Payload, Policy>* slots = nullptr;  ///< `capacity` records, a power of two
    Credits<Policy>* credits = nullptr;
    Issued<Policy>* bell = nullptr;  ///< only read and written with Initiation::pull
    std::uint32_t capacity = 0;
    Initiation initiation = Initiation::push;
};

/// What the producer gets back for a record: its number, the slot it lies in, and where its completion will appear.
struct Ticket {
    std::uint64_t number = 0;
    std::uint32_t slot = 0;
    bool in_slot = false;
};

/// The producer's half. Used by one thread at a time. Private to it: 64 bytes that nobody else touches.
template <class Payload, class Policy = StandardAtomics>
class Producer {
  public:
    using RecordType = Record<Payload, Policy>;

    Producer() = default;
    Producer(ChannelParts<Payload, Policy> parts, std::uint32_t depth, Completion completion)
        : slots_(parts.slots), credits_(parts.credits),
          bell_(parts.initiation == Initiation::pull ? parts.bell : nullptr), mask_(parts.capacity - 1),
          depth_(depth < parts.capacity ? depth : parts.capacity), completion_(completion) {}

    bool attached() const noexcept { return slots_ != nullptr; }
    std::uint64_t issued() const noexcept { return issued_; }
    std::uint64_t outstanding() const noexcept { return issued_ - completed_; }
    /// The slot of the record that was published last.
    std::uint32_t position() const noexcept { return position_; }
    /// What the consumer claimed to have completed when that was more than was issued; 0 while it has not.
    std::uint64_t claimed() const noexcept { return claimed_; }
    /// True when everything issued is known to be complete. Costs nothing: it looks at no shared line.
    bool known_empty() const noexcept { return issued_ == completed_; }

    /// The record to fill next, or nullptr when `depth` records are outstanding. Fill it, then publish().
    RecordType* reserve() noexcept {
        if (known_empty()) return &slots_[position_];
        if (outstanding() >= depth_) {
            refresh();
            if (outstanding() >= depth_) return nullptr;
        }
        if (known_empty()) return &slots_[position_];
        return &slots_[(position_ + 1) & mask_];
    }

    /// Makes the reserved record valid for the consumer.
    Ticket publish() noexcept {
        const bool empty = known_empty();
        if (!empty) position_ = (position_ + 1) & mask_;
        const bool in_slot = completion_ == Completion::slot || (empty && completion_ == Completion::automatic);
        ++issued_;
        last_in_slot_ = in_slot;
        slots_[position_].sequence.store(2 * issued_ + (in_slot ? 1 : 0), std::memory_order_release);
        if (bell_) bell_->issued.store(issued_, std::memory_order_release);
        return {issued_, position_, in_slot};
    }

    /// Has this record completed? An acquire: what the consumer wrote before completing is visible after `true`.
    bool complete(Ticket ticket) noexcept {
        if (ticket.number <= completed_) return true;
        if (!completed(slots_, credits_, ticket)) return false;
        completed_ = ticket.number;  // records complete in order
        return true;
    }

    /// Looks at the shared lines and forgets what has completed. True when nothing is outstanding.
    bool drained() noexcept {
        if (known_empty()) return true;
        return complete({issued_, position_, last_in_slot_});
    }

    /// Have this record and all before it completed? For callers that kept no ticket.
    bool complete_through(std::uint64_t number) noexcept {
        if (number <= completed_) return true;
        refresh();
        return number <= completed_;
    }

    /// The same question from any other thread, by the shared words alone.
    static bool completed(const RecordType* slots, const Credits<Policy>* credits, Ticket ticket) noexcept {
        if (ticket.in_slot) {
            const auto& record = slots[ticket.slot];
            if (record.done.load(std::memory_order_acquire) >= ticket.number) return true;
        }
        return credits->completed.load(std::memory_order_acquire) >= ticket.number;
    }

  private:
    /// Cold: nothing is known any more, so look at the shared words. In a slot-completing stream these are the records'
    /// own.
    void refresh() noexcept {
        if (completion_ == Completion::slot) {
            std::uint64_t number = completed_ + 1;
            auto slot = (position_ + 1 - static_cast<std::uint32_t>(outstanding())) & mask_;
            for (; number <= issued_; ++number, slot = (slot + 1) & mask_) {
                if (slots_[slot].done.load(std::memory_order_acquire) < number) break;
                completed_ = number;
            }
        } else {
            // Whoever completes may be another process: no more than was issued can be complete.
            const auto completed = credits_->completed.load(std::memory_order_acquire);
            if (completed > issued_) claimed_ = completed;
            if (completed > completed_) completed_ = completed < issued_ ? completed : issued_;
            if (last_in_slot_) complete({issued_, position_, true});
        }
    }

    RecordType* slots_ = nullptr;
    const Credits<Policy>* credits_ = nullptr;
    Issued<Policy>* bell_ = nullptr;
    std::uint64_t issued_ = 0;
    std::uint64_t completed_ = 0;  ///< what this half knows, not what is
    std::uint64_t claimed_ = 0;
    std::uint32_t position_ = 0;
    std::uint32_t mask_ = 0;
    std::uint32_t depth_ = 0;
    Completion completion_ = Completion::automatic;
    bool last_in_slot_ = false;
};

/// The consumer's half. Used by one thread. Records are taken and completed in order.
template <class Payload, class Policy = StandardAtomics>
class Consumer {
  public:
    using RecordType = Record<Payload, Policy>;

    Consumer() = default;
    explicit Consumer(ChannelParts<Payload, Policy> parts)
        : slots_(parts.slots), credits_(parts.credits),
          bell_(parts.initiation == Initiation::pull ? parts.bell : nullptr), mask_(parts.capacity - 1) {}
    /// Goes on where an earlier consumer stopped: `next` is the number of the first record that is not complete,
    /// `position` the slot in which it lies, or, if it is not there yet, the slot of the record before it.
    Consumer(ChannelParts<Payload, Policy> parts, std::uint64_t next, std::uint32_t position) : Consumer(parts) {
        next_ = next;
        position_ = position;
    }

    bool attached() const noexcept { return slots_ != nullptr; }
    std::uint64_t next() const noexcept { return next_; }

    /// The next record, or nullptr. Two loads that hit the private cache while nothing arrives.
    RecordType* front() noexcept {
        if (bell_ && bell_->issued.load(std::memory_order_acquire) < next_) return nullptr;
        if (valid(position_)) return &slots_[position_];
        const auto after = (position_ + 1) & mask_;
        if (!valid(after)) return nullptr;
        position_ = after;
        return &slots_[after];
    }

    /// The record `distance` behind front(), if it is there already; for prefetching. Does not move anything. A record
    /// that completes in its slot was alone when it was issued, so nothing is looked for behind it.
    const RecordType* behind(std::uint32_t distance = 1) const noexcept {
        if (slots_[position_].sequence.load(std::memory_order_relaxed) & 1) return nullptr;
        const auto& record = slots_[(position_ + distance) & mask_];
        return record.sequence.load(std::memory_order_acquire) >> 1 == next_ + distance ? &record : nullptr;
    }

    /// The position of front() in the ring.
    std::uint32_t position() const noexcept { return position_; }

    /// Completes front(): publishes everything done so far to whoever sees the completion.
    void complete() noexcept {
        auto& record = slots_[position_];
        if (record.sequence.load(std::memory_order_relaxed) & 1) record.done.store(next_, std::memory_order_release);
        else credits_->completed.store(next_, std::memory_order_release);
        ++next_;
    }

  private:
    bool valid(std::uint32_t slot) const noexcept {
        return slots_[slot].sequence.load(std::memory_order_acquire) >> 1 == next_;
    }

    RecordType* slots_ = nullptr;
    Credits<Policy>* credits_ = nullptr;
    const Issued<Policy>* bell_ = nullptr;
    std::uint64_t next_ = 1;
    std::uint32_t position_ = 0;
    std::uint32_t mask_ = 0;
};

}  // namespace penstock
