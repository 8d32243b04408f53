// message layer: an answer travels back in the record of the message that it answers.
//
// Two ranks that exchange short messages in turn would use two lines, one for each direction, and each of them would
// be written by one side and polled by the other. When the line that brought a message also carries the answer, a
// single line goes to and fro, which processors do with half as many transfers (floor F1 against F2, `./bench floor`).
//
// The channel (channel.hpp) lets the consumer complete a lone record in its own line. A message that may be answered
// is such a record: its receiver does not complete it when it takes it, but with the answer that it sends next,
// written over the message, or with none when it looks for another message first.
//
// A message of up to 4 KiB that does not fit the record has its bytes in the exchange buffer, of which each direction
// has one, and so has the answer: the same lines go to and fro, where a ring would move new ones each time. The buffer
// is as the payload of the record that asks: the asker's, until it publishes that record; the answerer's until it
// completes it; the asker's again when it has seen that, and has taken the answer, if there is one.
//
// Happens-before.
//   the message    the asker writes buffer and payload -> sequence.store(release) -> sequence.load(acquire) by the
//                  receiver -> its reads
//   the answer     the receiver has read the message -> writes the answer over it -> done.store(release)
//                  -> done.load(acquire) by the asker -> reads the answer -> its next message there. No other message
//                  asks meanwhile: may_ask() is false from asked() until taken(), or until the record is seen complete
//                  without an answer; for an answer that was set aside, too, whose bytes stay in the buffer.
//   its place      an answer says how many messages its sender had sent before it through its own channel. The asker
//   in the order   takes those first, and looks at the answer after each look at that channel: what was sent behind
//                  the answer carries it along (sequence.store(release) comes after done.store(release)).
//
// An answer that its asker has not taken when the line is needed again is set aside; no other is invited until it was
// taken, so there is never more than one.
//
// Templates over the payload and the atomic type: tests/model checks this very code. `./bench messages` prints what a
// round trip costs.
#pragma once

#include <cstdint>

#include "penstock/detail/channel/channel.hpp"
#include "penstock/detail/machine/relax.hpp"

namespace penstock {

/// The asker's half: the producer of the channel that the question went through. Used by one thread. A payload tells by
/// `is_answer()` whether the consumer has written an answer over it.
template <class Payload, class Policy = StandardAtomics>
class AnswerSought {
  public:
    using RecordType = Record<Payload, Policy>;

    /// To be called with each record that is about to be filled. May it be answered in its own line? `alone`: the
    /// channel is known to be empty, so that the record will complete in its line.
    bool may_ask(const RecordType& record, bool alone) noexcept {
        if (record_ == nullptr) return alone && !aside_;
        return may_ask_again(record, alone);
    }
    /// That record was published, and may be answered.
    void asked(RecordType& record, Ticket ticket) noexcept {
        record_ = &record;
        number_ = ticket.number;  // one by one: a ticket in one piece would be put together in memory
        slot_ = ticket.slot;
    }

    /// The answer, or null when there is none yet. Between processes it is still in memory that the peer may write.
    const Payload* look() noexcept {
        if (aside_) return &set_aside_;
        if (record_ == nullptr || record_->done.load(std::memory_order_acquire) < number_) return nullptr;
        if (record_->payload.is_answer()) return &record_->payload;
        record_ = nullptr;  // completed without one
        return nullptr;
    }

    /// The answer was taken; tells the channel that its record is free.
    void taken(Producer<Payload, Policy>& producer) noexcept {
        if (aside_) {
            aside_ = false;
            return;
        }
        prefetch_write(record_);  // the next message goes there
        producer.complete({number_, slot_, true});
        record_ = nullptr;
    }

  private:
    bool may_ask_again(const RecordType& record, bool alone) noexcept {
        if (look() == nullptr) {
            // The channel gives a record out again only when it was completed, so here it is another one.
            if (record_ == nullptr) return alone;
            if (record_ == &record) record_ = nullptr;  // unless what the peer wrote is nonsense
            return false;
        }
        if (!aside_ && record_ == &record) {
            set_aside_ = record_->payload;
            aside_ = true;
            record_ = nullptr;
        }
        return false;
    }

    RecordType* record_ = nullptr;  ///< whose answer may come
    std::uint64_t number_ = 0;
    std::uint32_t slot_ = 0;
    bool aside_ = false;
    Payload set_aside_{};
};

/// The answerer's half: the consumer of that channel. Used by one thread.
template <class Payload, class Policy = StandardAtomics>
class AnswerOwed {
  public:
    using RecordType = Record<Payload, Policy>;

    /// The front of the channel was taken; it stays there until complete().
    void hold(RecordType& front) noexcept {
        record_ = &front;
        prefetch_write(record_);  // the answer goes there
    }
    bool holds() const noexcept { return record_ != nullptr; }
    /// Where the answer goes, after holds(). Fill it so that is_answer() holds, then complete().
    Payload& payload() noexcept { return record_->payload; }
    /// Completes the message that is held, if any, with the answer if one was filled in.
    void complete(Consumer<Payload, Policy>& consumer) noexcept {
        if (record_ == nullptr) return;
        record_ = nullptr;
        consumer.complete();
    }

  private:
    RecordType* record_ = nullptr;
};

}  // namespace penstock
