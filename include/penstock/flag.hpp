// store layer: flags and counters, the only words that are read from afar.
//
// Each is one word on lines of its own, homed at the rank that waits for it: waiting spins on local memory and parks on
// that rank's doorbell, changing it costs one store or one read-modify-write over there.
//
// Happens-before. publish: the producer's earlier stores, into any region -> value.store(release) or a
// read-modify-write (acq_rel) -> value.load(acquire) by the owner -> its reads of the regions. FlagWord is a template
// over the atomic type: tests/model checks this code.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

#include "penstock/detail/channel/channel.hpp"
#include "penstock/rank.hpp"

namespace penstock {

/// The word of a flag or counter. Written and read by the owner and by all that were granted it.
template <class Policy = StandardAtomics>
struct alignas(128) FlagWord {
    typename Policy::template Atomic<std::uint64_t> value{0};

    /// Whoever sees `number` (or sees its successor in a read-modify-write) sees all that the caller stored before.
    void publish(std::uint64_t number) noexcept { value.store(number, std::memory_order_release); }
    std::uint64_t seen() const noexcept { return value.load(std::memory_order_acquire); }
    /// Takes the flag. True when somebody had set it before.
    bool test_and_set() noexcept { return value.exchange(1, std::memory_order_acq_rel) != 0; }
    std::uint64_t fetch_add(std::uint64_t difference) noexcept {
        return value.fetch_add(difference, std::memory_order_acq_rel);
    }
    bool compare_exchange(std::uint64_t& expected, std::uint64_t desired) noexcept {
        return value.compare_exchange_strong(expected, desired, std::memory_order_acq_rel, std::memory_order_acquire);
    }
};
static_assert(sizeof(FlagWord<>) == 128);

namespace team {

/// A word that this rank owns or was granted, and the ring that tells its owner of a change.
class SharedWord {
  public:
    int owner() const noexcept { return memory_.owner(); }
    const std::string& name() const noexcept { return memory_.name(); }

  protected:
    SharedWord(Rank me, std::string_view name, std::uint64_t kind)
        : me_(me), memory_(me.make(name, sizeof(FlagWord<>), kind)), word_(new(memory_.data()) FlagWord<>) {}
    SharedWord(Rank me, RankMemory memory)
        : me_(me), memory_(std::move(memory)), word_(reinterpret_cast<FlagWord<>*>(memory_.data())) {}
    static RankMemory accepted(Rank me, int owner, std::string_view name, std::uint64_t kind,
                               std::chrono::nanoseconds within);

    /// Tells the owner, who may sleep.
    void tell() const noexcept {
        if (owner() != me_.index()) me_.wake(owner());
    }
    void publish(std::uint64_t value) {
        if (me_.far() != nullptr) [[unlikely]]
            if (published_over_nodes(value)) return;
        word_->publish(value);
        tell();
    }
    std::uint64_t seen() const {
        if (memory_.far() != nullptr) [[unlikely]]
            return change_over_nodes(WordChange::load, 0).before;
        return word_->seen();
    }
    /// False: the word is of this machine, and nothing stands in the way of publishing it there any more.
    bool published_over_nodes(std::uint64_t value);
    Changed change_over_nodes(WordChange what, std::uint64_t value, std::uint64_t expected = 0) const;

    Rank me_;
    RankMemory memory_;
    FlagWord<>* word_;
};

/// Another rank's word, with what all that have it do with it.
template <class Operations>
class RemoteWord : public Operations {
  public:
    /// Throws as Rank::accept.
    static RemoteWord accept(Rank me, int owner, std::string_view name, std::chrono::nanoseconds within = {}) {
        return {me, SharedWord::accepted(me, owner, name, Operations::kind, within)};
    }

  private:
    using Operations::Operations;
};

}  // namespace team

/// A flag as all that have it use it. Used by one thread of each rank. Of a flag on another node, what returns a value
/// costs a round trip, and throws RankDied when that node is lost.
class FlagOperations : public team::SharedWord {
  public:
    /// Is it set? What its setter had stored before is visible after `true`.
    bool is_set() const { return seen() != 0; }
    /// Sets it: publishes all that this rank has stored so far, and wakes the owner.
    void set() { publish(1); }
    /// Down again, for the next time.
    void clear() { publish(0); }
    /// Sets it. True when it was set before.
    bool test_and_set() {
        if (me_.far() != nullptr) [[unlikely]]
            return change_over_nodes(team::WordChange::exchange, 1).before != 0;
        const bool before = word_->test_and_set();
        tell();
        return before;
    }

  protected:
    static constexpr std::uint64_t kind = 0x47414c46;  // "FLAG"
    using SharedWord::SharedWord;
};

/// A flag at home: this rank waits for it.
class Flag : public FlagOperations {
  public:
    /// A new flag that is not set. Throws as Rank::make.
    Flag(Rank me, std::string_view name) : FlagOperations(me, name, kind) {}

    /// Lets a rank raise or change it.
    void grant(int rank) { me_.grant(memory_, rank); }

    /// Waits until it is set. Throws RankDied or RankLeft when `awaited` can no longer set it.
    void wait(Awaited awaited = Awaited::anybody()) const {
        me_.wait([&] { return word_->seen() != 0; }, awaited);
    }
    /// As wait(), for at most `limit`. False when it was not set by then.
    [[nodiscard]] bool wait_for(std::chrono::nanoseconds limit, Awaited awaited = Awaited::anybody()) const {
        return me_.wait_for([&] { return word_->seen() != 0; }, awaited, limit);
    }
};

/// Another rank's flag.
using RemoteFlag = team::RemoteWord<FlagOperations>;

/// A counter as all that have it use it. Each change publishes all that this rank has stored so far, and wakes the
/// owner. Of a counter on another node, what returns a value costs a round trip, and throws RankDied when that node is
/// lost.
class CounterOperations : public team::SharedWord {
  public:
    /// Its value now.
    std::uint64_t load() const { return seen(); }
    /// Gives it a value.
    void store(std::uint64_t value) { publish(value); }
    /// Adds, modulo 2^64, and returns the value before.
    std::uint64_t fetch_add(std::uint64_t difference) {
        if (me_.far() != nullptr) [[unlikely]]
            return change_over_nodes(team::WordChange::add, difference).before;
        const auto before = word_->fetch_add(difference);
        tell();
        return before;
    }
    /// Writes `desired` if the value is `expected`; else writes the value into `expected` and returns false.
    bool compare_exchange(std::uint64_t& expected, std::uint64_t desired) {
        if (me_.far() != nullptr) [[unlikely]] {
            const auto changed = change_over_nodes(team::WordChange::compare_exchange, desired, expected);
            if (!changed.written) expected = changed.before;
            return changed.written;
        }
        const bool written = word_->compare_exchange(expected, desired);
        if (written) tell();
        return written;
    }

  protected:
    static constexpr std::uint64_t kind = 0x52544e43;  // "CNTR"
    using SharedWord::SharedWord;
};

/// A counter at home: this rank waits for it.
class Counter : public CounterOperations {
  public:
    /// A new counter that is 0. Throws as Rank::make.
    Counter(Rank me, std::string_view name) : CounterOperations(me, name, kind) {}

    /// Lets a rank raise or change it.
    void grant(int rank) { me_.grant(memory_, rank); }

    /// Waits until the counter is at least `value`. Throws RankDied or RankLeft when `awaited` can no longer bring that
    /// about.
    void wait_until(std::uint64_t value, Awaited awaited = Awaited::anybody()) const {
        me_.wait([&] { return word_->seen() >= value; }, awaited);
    }
    /// As wait_until(), for at most `limit`. False when it was less by then.
    [[nodiscard]] bool wait_until_for(std::uint64_t value, std::chrono::nanoseconds limit,
                                      Awaited awaited = Awaited::anybody()) const {
        return me_.wait_for([&] { return word_->seen() >= value; }, awaited, limit);
    }
};

/// Another rank's counter.
using RemoteCounter = team::RemoteWord<CounterOperations>;

}  // namespace penstock
