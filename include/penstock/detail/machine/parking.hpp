// machine layer: how a thread goes to sleep without losing a wake-up, and how it is woken, at no cost to the waker.
//
// Sending must stay free of fences (one raises a null task from 6 to 74 ns), so the parker pays: it announces itself,
// issues a barrier on all threads of the process, looks once more, and sleeps. The sender publishes and then loads one
// flag.
//
// Happens-before. Sender: publish (a store), then load parked. Parker: store parked, barrier, poll. The barrier makes
// every running thread of the process execute a full fence between two of its instructions. If the sender's load of
// parked comes before its fence and reads 0, then its publication is before that fence too and the poll after the
// barrier sees it. If the load comes after the fence, it reads 1 and the sender wakes the parker. So one of the two
// always happens.
//
// The barrier, the poll, the sleep and the wake-up are the caller's: waiter.hpp gives them system calls, tests/model
// gives them a model of those calls, with the barrier's fence in every place of the sender where it can fall.
#pragma once

#include <atomic>

namespace penstock {

/// One handshake over one flag: 1 while its sleeper sleeps or is about to, else 0. One sleeper, any number of wakers.
template <class Flag>
class Parking {
  public:
    explicit Parking(Flag& parked) noexcept : parked_(parked) {}

    /// The sleeper's half. True when the last look before sleeping succeeded; false after a sleep, whatever ended it.
    /// `sleep()` must return at once when the flag is no longer 1, and whenever a waker calls its `rouse` (a futex does
    /// both).
    template <class Barrier, class Poll, class Sleep>
    bool park(Barrier&& barrier, Poll&& poll, Sleep&& sleep) {
        parked_.store(1, std::memory_order_relaxed);  // the barrier orders it before the poll
        barrier();
        const bool ready = poll();
        if (!ready) sleep();
        parked_.store(0, std::memory_order_relaxed);
        return ready;
    }

    /// The waker's half, after it has published. One load of a flag that stays in its cache.
    bool sleeper() const noexcept { return parked_.load(std::memory_order_relaxed) != 0; }

    /// Cold: there seems to be a sleeper. Only one waker rouses it; false for the others.
    template <class Rouse>
    bool wake(Rouse&& rouse) {
        if (parked_.exchange(0, std::memory_order_acq_rel) == 0) return false;
        rouse();
        return true;
    }

  private:
    Flag& parked_;
};

}  // namespace penstock
