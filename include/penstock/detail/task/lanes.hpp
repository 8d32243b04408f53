// task layer: an initiator's ends of the lanes to all targets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "penstock/detail/channel/channel.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/machine/waiter.hpp"
#include "penstock/detail/task/descriptor.hpp"

namespace penstock {

class Ring;

/// The end of one lane.
struct alignas(128) LaneEnd {
    Producer<TaskPayload> producer;
    Ring* ring = nullptr;          ///< null until the lane is made, at its first use
    Doorbell* bell = nullptr;      ///< of the target
    std::uint32_t calls_past = 0;  ///< calls that go to the deque before the full lane is looked at again
    Ring* overflow = nullptr;      ///< the part of the deque that takes them
};

/// The lanes of one initiator, by the number of the target. Used by its thread alone. Knows how many are empty, as far
/// as it has looked: whatever looks at a completion line goes through here.
class Lanes {
  public:
    Lanes() = default;
    explicit Lanes(int count)
        : idle_(count), count_(count), ends_(std::make_unique<LaneEnd[]>(static_cast<std::size_t>(count))) {}

    int count() const noexcept { return count_; }
    LaneEnd& operator[](int target) const noexcept { return ends_[static_cast<std::size_t>(target)]; }
    std::size_t number_of(const LaneEnd& lane) const noexcept { return static_cast<std::size_t>(&lane - ends_.get()); }
    LaneEnd* begin() const noexcept { return ends_.get(); }
    LaneEnd* end() const noexcept { return ends_.get() + count_; }

    // ---- which one comes next ----

    bool some_idle() const noexcept { return idle_ != 0; }
    int in_turn() noexcept { return next_ = next_ + 1 >= count_ ? 0 : next_ + 1; }
    /// In turn, the first whose target has nothing to do, or null. `make(target)` makes the lane.
    template <class Make>
    LaneEnd* idle(Make&& make) {
        for (int looked = 0; looked < count_; ++looked) {
            LaneEnd& lane = (*this)[in_turn()];
            if (lane.ring == nullptr) [[unlikely]]
                make(next_);
            if (lane.producer.known_empty()) return &lane;
        }
        return nullptr;
    }
    /// The one with the fewest outstanding tasks; among equals the first, counted from `from`.
    int least_loaded(int from = 0) const noexcept {
        const auto load = [this](int target) { return (*this)[target].producer.outstanding(); };
        int best = from;
        for (int looked = 1; looked < count_; ++looked)
            if (const int candidate = (from + looked) % count_; load(candidate) < load(best)) best = candidate;
        return best;
    }
    int least_loaded_in_turn() noexcept { return next_ = least_loaded((next_ + 1) % count_); }

    // ---- tasks ----

    TaskRecord* reserve(LaneEnd& lane) noexcept {
        return look_at(lane, [&] { return lane.producer.reserve(); });
    }
    Ticket publish(LaneEnd& lane) noexcept {
        if (lane.producer.known_empty()) --idle_;
        return lane.producer.publish();
    }
    bool complete_through(LaneEnd& lane, std::uint64_t number) noexcept {
        return lane.producer.known_empty() || look_at(lane, [&] { return lane.producer.complete_through(number); });
    }
    bool complete(LaneEnd& lane, Ticket ticket) noexcept {
        return lane.producer.known_empty() || look_at(lane, [&] { return lane.producer.complete(ticket); });
    }
    /// Each look at a lane's completion line takes it from the target, which writes it with every task: the more tasks
    /// are still outstanding there, the longer until the next look.
    void pace() const noexcept {
        std::uint64_t outstanding = 0;
        for (const LaneEnd& lane : *this) outstanding += lane.producer.outstanding();
        for (std::uint64_t breath = std::min<std::uint64_t>(outstanding, 32); breath > 1; --breath) relax();
    }

  private:
    template <class Look>
    std::invoke_result_t<Look> look_at(LaneEnd& lane, Look&& look) noexcept {
        const bool was_empty = lane.producer.known_empty();
        const auto seen = look();
        if (!was_empty && lane.producer.known_empty()) ++idle_;
        return seen;
    }

    int next_ = -1;  ///< looked at last
    int idle_ = 0;   ///< known to be empty
    int count_ = 0;
    std::unique_ptr<LaneEnd[]> ends_;
};

}  // namespace penstock
