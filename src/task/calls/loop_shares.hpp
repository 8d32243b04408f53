// task layer: how the threads of a loop agree on who runs which piece.
//
// An Offer lies in the record that its target polls, so that the target takes it with the line that it waits for. It
// asks the target to run some pieces, and it can be taken back as long as the target has not begun. A Share is the
// pieces that one thread still has to run: it takes them from the front, one line that it has anyway, and who has none
// left takes the back half.
//
// Happens-before. What is offered is stored before word_.store(release), in make(), and read behind the exchange that
// began it (acquire), so that it belongs to that very offer, although a taken-back one is made anew in the same place.
// Of begin() and take_back() one exchange succeeds: so either the target runs the pieces, and then the loop waits for
// the completion of the record, or the loop does, and then the target touches nothing of it. Shares hand over nothing
// but numbers: all of it is in the word, so that an exchange that succeeds is right whatever happened in between.
// What a piece wrote comes to the loop with the completion of its target's record. tests/model/loop_model_test.cpp
// checks this very code.
#pragma once

#include <atomic>
#include <cstdint>

#include "penstock/detail/channel/channel.hpp"

namespace penstock::loop {

/// Pieces first .. end - 1.
struct Range {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
    std::uint32_t size() const noexcept { return end - first; }
};

template <class Loop, class Policy = StandardAtomics>
class Offer {
  public:
    // ---- the loop's thread ----

    /// `body`: what the target will read besides the loop.
    void make(Loop& loop, Range pieces, void* body) noexcept {
        loop_.store(&loop, std::memory_order_relaxed);
        pieces_.store(std::uint64_t{pieces.first} << 32 | pieces.end, std::memory_order_relaxed);
        body_.store(body, std::memory_order_relaxed);
        word_.store(offered, std::memory_order_release);
    }
    /// False when the target has begun.
    bool take_back() noexcept {
        auto word = offered;
        return word_.compare_exchange_strong(word, taken_back, std::memory_order_relaxed, std::memory_order_relaxed);
    }
    bool was_taken_back() const noexcept { return word_.load(std::memory_order_relaxed) == taken_back; }

    // ---- the target ----

    /// What to fetch before it begins. It may be gone.
    const void* loop_ahead() const noexcept { return loop_.load(std::memory_order_relaxed); }
    const void* body_ahead() const noexcept { return body_.load(std::memory_order_relaxed); }
    /// False when it was taken back.
    bool begin() noexcept {
        auto word = offered;
        return word_.compare_exchange_strong(word, begun, std::memory_order_acquire, std::memory_order_relaxed);
    }
    /// Behind begin().
    Loop& loop() const noexcept { return *loop_.load(std::memory_order_relaxed); }
    Range pieces() const noexcept {
        const auto both = pieces_.load(std::memory_order_relaxed);
        return {static_cast<std::uint32_t>(both >> 32), static_cast<std::uint32_t>(both)};
    }

  private:
    static constexpr std::uint64_t taken_back = 0, offered = 1, begun = 2;

    typename Policy::template Atomic<std::uint64_t> word_{taken_back};
    typename Policy::template Atomic<Loop*> loop_{nullptr};
    typename Policy::template Atomic<std::uint64_t> pieces_{0};
    typename Policy::template Atomic<void*> body_{nullptr};
};

template <class Policy = StandardAtomics>
class alignas(128) Share {
  public:
    /// Of the thread whose share it is, while it is empty.
    void give(Range pieces) noexcept { word_.store(word_of(pieces), std::memory_order_relaxed); }
    /// Takes as many from the front as `wanted(left)` says, at least one. Empty when none is left.
    template <class Wanted>
    Range take(Wanted&& wanted) noexcept {
        auto word = word_.load(std::memory_order_relaxed);
        for (;;) {
            const Range left = range_of(word);
            if (left.size() == 0) return {};
            const Range taken{left.first, left.first + wanted(left.size())};
            if (word_.compare_exchange_weak(word, word_of({taken.end, left.end}), std::memory_order_relaxed,
                                            std::memory_order_relaxed))
                return taken;
        }
    }
    /// For another thread: the back half, or the last one.
    Range steal() noexcept {
        auto word = word_.load(std::memory_order_relaxed);
        for (;;) {
            const Range left = range_of(word);
            if (left.size() == 0) return {};
            const Range stolen{left.first + left.size() / 2, left.end};
            if (word_.compare_exchange_weak(word, word_of({left.first, stolen.first}), std::memory_order_relaxed,
                                            std::memory_order_relaxed))
                return stolen;
        }
    }
    std::uint32_t left() const noexcept { return range_of(word_.load(std::memory_order_relaxed)).size(); }

  private:
    static std::uint64_t word_of(Range range) noexcept { return std::uint64_t{range.first} << 32 | range.end; }
    static Range range_of(std::uint64_t word) noexcept {
        return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
    }

    typename Policy::template Atomic<std::uint64_t> word_{0};
};

}  // namespace penstock::loop
