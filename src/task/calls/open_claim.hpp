// task layer: what a runner has claimed from a deque and not begun, in a form from which others can take it.
//
// A task of a claim may take long, or wait for one behind it, so others must get at the rest. They pay for that: the
// runner's side is one store and one load a task, without a fence (`./bench null-task`).
//
// Happens-before. Runner: store begun, then load end. Taker: mark end as being changed, barrier, then load begun. The
// barrier makes every running thread of the process execute a full fence between two of its instructions (parking.hpp).
// If the runner's load of end comes before its fence, then its store of begun does too, and the taker leaves that task
// to it. If the load comes after the fence it finds the mark, and the runner waits for what the taker decides. So
// exactly one of them runs the task. The taker's last step replaces its own mark, which no other taker uses, or takes
// nothing: a runner that closes a claim, of which it has begun the last task, has overwritten the mark. The next claim
// may lie elsewhere, or have lower numbers (given-back tasks), so a taker must not put its begun and the end of the one
// before together: all stores of begun are releases, so who has loaded one of a later claim finds the mark overwritten.
// So what the taker read in between belongs to one claim. tests/model/open_claim_model_test.cpp checks this very code.
#pragma once

#include <atomic>
#include <cstdint>

#include "penstock/detail/channel/channel.hpp"

namespace penstock {

/// `Where`: what the tasks lie in.
template <class Where, class Policy = StandardAtomics>
class alignas(128) OpenClaim {
  public:
    /// Tasks first .. end - 1 of `where`.
    struct Rest {
        Where* where = nullptr;
        std::uint64_t first = 0;
        std::uint64_t end = 0;
        bool empty() const noexcept { return first >= end; }
    };

    // ---- the runner ----

    /// It has claimed the tasks from `first` on, up to before `end`, and begins the first.
    void open(Where& where, std::uint64_t first, std::uint64_t end) noexcept {
        where_.store(&where, std::memory_order_relaxed);
        begun_.store(first, std::memory_order_release);
        known_end_ = end;
        end_.store(end, std::memory_order_release);
    }
    /// It is about to begin this one, unless then unchanged() is false and settle() says that it is not its own any
    /// more.
    void announce(std::uint64_t number) noexcept {
        begun_.store(number, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    /// It has announced later ones, to look at them while nobody else may have them, and goes back to this one: others
    /// may have what lies behind it. A taker that reads this comes behind those looks.
    void announce_again(std::uint64_t number) noexcept { begun_.store(number, std::memory_order_release); }
    bool unchanged() const noexcept { return end_.load(std::memory_order_relaxed) == known_end_; }
    /// The end of the claim, once no taker is about to change it. `pause()` lets others run.
    template <class Pause>
    std::uint64_t settle(Pause&& pause) noexcept {
        while ((known_end_ = end_.load(std::memory_order_acquire)) >= changing) pause();
        return known_end_;
    }
    /// All tasks have begun, or the rest is not its own any more.
    void close() noexcept { end_.store(0, std::memory_order_release); }
    /// What has not begun is not this claim's any more, as unchanged() will say. A task may wait, and so withdraw, more
    /// than once.
    template <class Pause>
    Rest withdraw(Pause&& pause) noexcept {
        auto end = end_.load(std::memory_order_acquire);
        while (end >= changing ||
               !end_.compare_exchange_weak(end, 0, std::memory_order_acq_rel, std::memory_order_acquire)) {
            pause();
            end = end_.load(std::memory_order_acquire);
        }
        return {where_.load(std::memory_order_relaxed), begun_.load(std::memory_order_relaxed) + 1, end};
    }

    // ---- any other thread ----

    /// Is there a task that has not begun? `number`: one behind the task that has begun last, or 0.
    std::uint64_t next() const noexcept {
        const auto end = end_.load(std::memory_order_acquire);
        const auto next = begun_.load(std::memory_order_relaxed) + 1;
        return end < changing && next < end ? next : 0;
    }
    Where* where() const noexcept { return where_.load(std::memory_order_relaxed); }
    std::uint64_t end() const noexcept { return end_.load(std::memory_order_relaxed); }

    /// Takes what has not begun. `mark`: an address of the caller's own, which no other taker gives meanwhile.
    /// `barrier()`: false when it cannot be had.
    template <class Barrier>
    Rest take(const void* mark, Barrier&& barrier) noexcept {
        auto end = end_.load(std::memory_order_acquire);
        if (end == 0 || end >= changing) return {};
        auto mine = changing | reinterpret_cast<std::uintptr_t>(mark);
        if (!end_.compare_exchange_strong(end, mine, std::memory_order_acq_rel, std::memory_order_relaxed)) return {};
        const bool fenced = barrier();
        const Rest rest{where_.load(std::memory_order_relaxed), begun_.load(std::memory_order_acquire) + 1, end};
        // else end stays: a task that was taken before may be announced all the same
        const bool takes = fenced && !rest.empty();
        if (!end_.compare_exchange_strong(mine, takes ? rest.first : end, std::memory_order_acq_rel,
                                          std::memory_order_relaxed))
            return {};
        return takes ? rest : Rest{};
    }

  private:
    static constexpr std::uint64_t changing = std::uint64_t{1} << 63;

    typename Policy::template Atomic<std::uint64_t> begun_{0};  ///< runner
    /// Runner while it is 0, else who changes it; 0: nothing to take
    typename Policy::template Atomic<std::uint64_t> end_{0};
    typename Policy::template Atomic<Where*> where_{nullptr};  ///< runner
    std::uint64_t known_end_ = 0;                              ///< runner's own
};

}  // namespace penstock
