// machine layer: the one place in which every thread of Penstock waits (contract 14).
//
// A wait has three phases: spin on what is polled; where the processor has a monitor instruction, doze on it; after
// about 50 us without anything to do, park on a futex. Who was rung in vain spins again first: more is about to come,
// and each ring costs the waker a system call. How parking loses no wake-up while sending stays free is told in
// parking.hpp. Where there is no membarrier, or the peer is another process, the sleep is bounded instead
// (`longest_sleep`).
//
// Who gives its processor to another program, by a yield or to sleep, gets it back when the others have had about one
// time slice of this thread's own length (Linux since 6.6, "earliest eligible virtual deadline first"). That is 0.7 to
// 2.8 ms, by the number of processors, at each hand-off. So threads that wait here have slices of 0.1 ms (Linux since
// 6.12): those of the runtime always, those of the program while a waiter has them, from the first sleep or long yield
// on. Their share of the processor stays the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/parking.hpp"
#include "penstock/detail/machine/relax.hpp"

namespace penstock {

/// The flag that a sleeper raises, on a line of its own. Lies beside the sleeper, or in a mapping shared with a peer.
struct alignas(128) Doorbell {
    std::atomic<std::uint32_t> parked{0};  ///< sleeper: 1 while it sleeps or is about to; waker: 0
};

namespace waiting {

/// Issues a full fence on every running thread of this process. False where the kernel has no such call.
bool process_wide_barrier() noexcept;
/// The same on every running thread of every process that accepts such barriers.
bool barrier_over_processes() noexcept;
/// Lets this process be reached by barriers that others issue. False where the kernel cannot.
bool accept_barriers() noexcept;
/// Sleeps while `bell` is 1, at most `longest`.
void sleep_on(Doorbell& bell, std::chrono::nanoseconds longest) noexcept;
/// Cold half of wake_at(). False when somebody else has just woken the sleeper.
bool wake(Doorbell& bell) noexcept;
/// Has the processor an instruction that dozes until a line is written?
bool can_doze() noexcept;
/// Dozes in the processor until `line` is written or about `ticks` have passed. False where the processor cannot.
bool doze(const void* line, std::uint64_t ticks) noexcept;

}  // namespace waiting

/// Tells the owner of `bell` that something was published for it. Costs the load of one cached flag.
inline void wake_at(Doorbell& bell) noexcept {
    if (Parking(bell.parked).sleeper()) [[unlikely]]
        waiting::wake(bell);
}

/// What a thread waits for, in the words that a report of "who waits for whom" uses. Static strings only.
struct WaitReason {
    const char* what = "nothing";  ///< for instance "a task"
    std::uint64_t subject = 0;     ///< an opaque id of what is waited for (a handle's ring, a lane)
};

/// How long each phase lasts.
struct WaitPolicy {
    std::chrono::nanoseconds spin{50'000};   ///< before parking
    std::uint32_t spins_before_yield = ~0u;  ///< yields the processor after so many looks (oversubscribed machines)
    /// Bound of one sleep, for peers that cannot be fenced; 0: 20 ms at first
    std::chrono::nanoseconds longest_sleep{0};
    bool across_processes = false;  ///< wakers are threads of other processes, which accept barriers

    /// The policy for `threads` threads on `processors` processors: spin when each has its own, else yield soon and
    /// park early.
    static WaitPolicy for_threads(double threads, double processors) noexcept;
};

namespace waiting {

/// Gives the processor to another thread that wants it.
void yield() noexcept;

/// A thread of the runtime: it has short time slices from now on, and those that it starts have slices of the usual
/// length.
void be_always_brief() noexcept;

/// A wait of a thread that may be the program's. From the first sleep or long yield in it on, and until the end of the
/// outermost of such objects, the thread has short time slices; so have threads that it starts meanwhile. Costs two
/// system calls at each end where that comes to pass.
class Brief {
  public:
    Brief() noexcept;
    ~Brief();
    Brief(const Brief&) = delete;
    Brief& operator=(const Brief&) = delete;

    /// For the wait of this thread, if there is one.
    static void begin() noexcept;

  private:
    const bool outermost_;
    bool begun_ = false;
    std::uint64_t usual_ = 0;  ///< nanoseconds that a slice had before; 0: it is as it was
};

/// Looks until `poll()` is true (true), or for as long as `policy` spins. `breathe()` comes between two looks.
template <class Poll, class Breathe>
bool spin(Poll&& poll, const WaitPolicy& policy, Breathe&& breathe) {
    const auto begin = Clock::ticks();
    for (std::uint32_t looks = 1;; ++looks) {
        if (poll()) return true;  // a poll that has said yes is not asked again
        if (looks >= policy.spins_before_yield) yield();
        else breathe();
        if (looks % 16 == 0 && Clock::nanoseconds(Clock::ticks() - begin) >= static_cast<double>(policy.spin.count()))
            return false;
    }
}

}  // namespace waiting

/// One per thread. wait() returns when the poll says so; interested others may read what it waits for.
class Waiter {
  public:
    explicit Waiter(WaitPolicy policy = {}) noexcept : policy_(policy) {}
    /// Sleeps at a bell that lies elsewhere, where other processes can ring it.
    Waiter(WaitPolicy policy, Doorbell& bell) noexcept : policy_(policy), bell_(&bell) {}
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    Doorbell& bell() noexcept { return *bell_; }
    const WaitPolicy& policy() const noexcept { return policy_; }
    /// How long the next waits spin before they park. For the thread that waits.
    void spin_for(std::chrono::nanoseconds time) noexcept { policy_.spin = time; }

    /// Waits until `poll()` returns true. `line`: one address whose change is likely to end the wait, or null.
    template <class Poll>
    void wait(Poll&& poll, WaitReason reason = {}, const void* line = nullptr) {
        for (std::uint32_t looks = 0; looks < short_spin; ++looks) {
            if (poll()) return;
            relax();
        }
        wait_longer(poll, reason, line);
    }

    /// As wait(), but gives up after `limit`, late by no more than one poll and the scheduler. False when it gave up.
    template <class Poll>
    bool wait_for(Poll&& poll, std::chrono::nanoseconds limit, WaitReason reason = {}) {
        deadline_ = deadline_after(limit);
        bool late = false;
        std::uint32_t looks = 0;
        wait(
            [&] {
                if (poll()) return true;
                if (++looks > short_spin || parking_) late = std::chrono::steady_clock::now() >= deadline_;
                return late;
            },
            reason);
        deadline_ = forever;
        return !late || poll();
    }

    /// What this thread waits for now ("nothing" when it does not). Any thread.
    WaitReason reason() const noexcept {
        return {what_.load(std::memory_order_acquire), subject_.load(std::memory_order_relaxed)};
    }
    bool parked() const noexcept { return bell_->parked.load(std::memory_order_relaxed) != 0; }
    std::uint64_t parks() const noexcept { return parks_; }

  private:
    /// Looks before the clock is read at all: about one microsecond, longer than any hand-off between two free
    /// processors.
    static constexpr std::uint32_t short_spin = 64;
    static constexpr auto forever = std::chrono::steady_clock::time_point::max();

    template <class Poll>
    void wait_longer(Poll&& poll, WaitReason reason, const void* line) {
        struct Announce {
            Waiter& waiter;
            ~Announce() { waiter.what_.store("nothing", std::memory_order_release); }
        } announce{*this};
        const waiting::Brief brief;
        subject_.store(reason.subject, std::memory_order_relaxed);
        what_.store(reason.what, std::memory_order_release);

        const auto breathe = [line] {
            if (line == nullptr || !waiting::doze(line, 4'000)) relax();
        };
        if (waiting::spin(poll, policy_, breathe)) return;
        for (slept_in_vain_ = 0; !poll(); ++slept_in_vain_) {
            if (park(poll)) return;
            if (rung_ && waiting::spin(poll, policy_, breathe)) return;
        }
    }

    /// Announces, fences, looks again, sleeps. True when the last look succeeded.
    template <class Poll>
    bool park(Poll&& poll) {
        bool fenced = false;
        rung_ = false;
        return Parking(bell_->parked)
            .park(
                [&] {
                    fenced =
                        policy_.across_processes ? waiting::barrier_over_processes() : waiting::process_wide_barrier();
                },
                [&] {
                    parking_ = true;
                    const bool ready = poll();
                    parking_ = false;
                    return ready;
                },
                [&] {
                    ++parks_;
                    waiting::sleep_on(*bell_, sleep_limit(fenced));
                    rung_ = bell_->parked.load(std::memory_order_relaxed) == 0;
                });
    }

    std::chrono::nanoseconds sleep_limit(bool fenced) const noexcept {
        auto limit = fenced ? longest_sleep() : std::chrono::nanoseconds{1'000'000};
        if (deadline_ != forever) {
            const std::chrono::nanoseconds left = deadline_ - std::chrono::steady_clock::now();
            if (left < limit) limit = left.count() > 0 ? left : std::chrono::nanoseconds{0};
        }
        return limit;
    }

    std::chrono::nanoseconds longest_sleep() const noexcept {
        if (policy_.longest_sleep.count() != 0) return policy_.longest_sleep;
        // A poll that looks at a peer process needs to look again now and then. Else looking is only for what nobody
        // rings for, and the longer nothing came, the longer it can wait: an idle machine leaves its processors alone.
        constexpr std::chrono::nanoseconds first{20'000'000};
        return policy_.across_processes ? first : first * (1 << std::min(slept_in_vain_, 3u));
    }

    Doorbell own_bell_;
    std::atomic<const char*> what_{"nothing"};
    std::atomic<std::uint64_t> subject_{0};
    WaitPolicy policy_;
    Doorbell* bell_ = &own_bell_;
    std::uint64_t parks_ = 0;
    std::chrono::steady_clock::time_point deadline_ = forever;  ///< of the wait_for under way
    bool parking_ = false;
    bool rung_ = false;                ///< the last sleep was ended by a waker
    std::uint32_t slept_in_vain_ = 0;  ///< sleeps of the wait under way
};

}  // namespace penstock
