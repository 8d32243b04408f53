// task layer: how the threads of a loop agree on who runs which piece.
//
// What a target is asked for lies in the record that it polls, so that it has it with the line that it waits for, and
// it can be taken back as long as the target has not begun. Whose it is, is decided on another line, the Winner, which
// stays with the target as long as nothing is taken back: an exchange there moves nothing. What is asked for is a part
// of a short loop, or to take what it finds in the shares of a longer one (Offer). A Share is the pieces that one
// thread still has to run: it takes them from the front, one line that it has anyway, and who has none left takes the
// back half.
//
// Happens-before. A part is published with its record, and is never changed. An offer may be made anew where the last
// one was taken back: it is stored before number_.store(release), in make(), and read behind the load of that number
// (acquire), and the target that wins number n reads what belongs to n, as n + 1 is made only after n was taken back.
// Of the exchanges that win n, the target's or the loop's, one succeeds: so either the target touches the loop, and
// then the loop waits for the completion of the record, or it never does. Shares hand over nothing but numbers: all of
// it is in the word, so that an exchange that succeeds is right whatever happened in between. What a piece wrote comes
// to the loop with the completion of its target's record. tests/model/loop_model_test.cpp checks this very code.
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

/// Who has won what was asked for last in one slot: 2 x its number, and 1 for the target.
template <class Policy = StandardAtomics>
struct alignas(64) Winner {
    typename Policy::template Atomic<std::uint64_t> word{0};

    /// False when the other one has. Numbers grow.
    bool win(std::uint64_t number, bool target) noexcept {
        auto last = word.load(std::memory_order_relaxed);
        while (last < 2 * number)
            if (word.compare_exchange_weak(last, 2 * number + (target ? 1 : 0), std::memory_order_relaxed,
                                           std::memory_order_relaxed))
                return true;
        return false;
    }
    bool was_taken_back(std::uint64_t number) const noexcept {
        return word.load(std::memory_order_relaxed) == 2 * number;
    }
};

/// To help with a loop.
template <class Loop, class Policy = StandardAtomics>
class Offer {
  public:
    /// For the loop's thread, where there is none or the last one was taken back.
    void make(Loop& loop, std::uint64_t number) noexcept {
        loop_.store(&loop, std::memory_order_relaxed);
        number_.store(number, std::memory_order_release);
    }
    /// For the target: the loop, or null when all was taken back.
    Loop* begin(Winner<Policy>& winner) noexcept {
        for (std::uint64_t last = 0;;) {
            const auto number = number_.load(std::memory_order_acquire);
            if (number == last) return nullptr;
            if (winner.win(number, true)) return loop_.load(std::memory_order_relaxed);
            last = number;  // perhaps another one has been made in its place
        }
    }

  private:
    typename Policy::template Atomic<std::uint64_t> number_{0};
    typename Policy::template Atomic<Loop*> loop_{nullptr};
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
