// How somebody who waits for room is told that there is some, at the cost of a store and a load for those who make it.
//
// Three states: none, starving (the waiter has looked, found nothing and will not look again by itself), told (a mail
// is on its way to it). The waiter says that it starves and looks once more. Whoever makes room publishes that first,
// and then looks for a starving waiter.
//
// Happens-before. Both sides store and then load, all four sequentially consistent: so either the waiter's second look
// finds the room, or the other side finds it starving. Whoever finds the state at `told` may rely on the mail under
// way: the waiter goes back to `none` when that mail arrives and looks for room after that.
// tests/model/starvation_model_test.cpp checks this code.
#pragma once

#include "penstock/detail/channel/channel.hpp"

namespace penstock::streaming {

template <class Policy = StandardAtomics>
class Starvation {
  public:
    /// Waiter. `room()` looks, by sequentially consistent loads. True when there was room after all.
    template <class Room>
    bool starve(Room&& room) {
        std::uint32_t state = none;
        state_.compare_exchange_strong(state, starving, std::memory_order_seq_cst, std::memory_order_seq_cst);
        return room();
    }
    /// Waiter, when the mail has arrived: looks for room only after this.
    void arrived() noexcept { state_.store(none, std::memory_order_seq_cst); }
    /// Whoever has made room, by a sequentially consistent store or read-modify-write. True: the caller must send the
    /// mail.
    bool must_tell() noexcept {
        if (state_.load(std::memory_order_seq_cst) != starving) [[likely]]
            return false;
        std::uint32_t state = starving;
        return state_.compare_exchange_strong(state, told, std::memory_order_seq_cst, std::memory_order_relaxed);
    }
    /// The waiter will not wait any more, so that no mail need be sent.
    void give_up() noexcept {
        std::uint32_t state = starving;
        state_.compare_exchange_strong(state, none, std::memory_order_seq_cst, std::memory_order_relaxed);
    }
    /// Any thread: a mail is on its way.
    bool told_already() const noexcept { return state_.load(std::memory_order_acquire) == told; }

  private:
    enum : std::uint32_t { none, starving, told };
    typename Policy::template Atomic<std::uint32_t> state_{none};
};

}  // namespace penstock::streaming
