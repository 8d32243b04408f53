// store layer: a barrier in which each rank spins on its own lines (dissemination: Hensgen, Finkel and Manber 1988).
//
// In round k a rank tells the one 2^k places behind it, and waits until the one 2^k places before it has told it: after
// ceil(log2 n) rounds everybody has heard from everybody. A cell holds the number of the episode, which only grows, so
// nothing is reset and a fast rank that is one episode ahead does no harm.
//
// Happens-before. All that a rank did before the barrier -> arrived.store(release) -> load(acquire) by the one that it
// tells -> that one's stores of the later rounds -> ... -> everybody's way out. DisseminationBarrier is a template over
// the atomic type: tests/model checks this code.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "penstock/detail/channel/channel.hpp"
#include "penstock/rank.hpp"

namespace penstock {

/// Homed at the rank that waits, one for each round. Written by the one rank that tells it in that round.
template <class Policy = StandardAtomics>
struct alignas(128) BarrierCell {
    typename Policy::template Atomic<std::uint64_t> arrived{0};  ///< the last episode that this round was reached in
    /// Who is gone, plus one, when the teller gave up for that
    typename Policy::template Atomic<std::uint32_t> lost{0};
};

/// One rank's part of the barrier, wherever the cells lie.
template <class Policy = StandardAtomics>
class DisseminationBarrier {
  public:
    using Cell = BarrierCell<Policy>;
    static constexpr int most_rounds = 8;

    static constexpr int rounds_of(int size) noexcept {
        return static_cast<int>(std::bit_width(static_cast<unsigned>(size) - 1));
    }
    /// Who is told in this round, and who tells.
    static constexpr int behind(int index, int round, int size) noexcept { return (index + (1 << round)) % size; }
    static constexpr int before(int index, int round, int size) noexcept {
        return (index + size - (1 << round) % size) % size;
    }

    DisseminationBarrier() = default;
    /// `own`: this rank's cells; `told[k]`: the cell of round k at the rank that it tells.
    DisseminationBarrier(Cell* own, std::array<Cell*, most_rounds> told, int rounds) noexcept
        : own_(own), told_(told), rounds_(rounds) {}

    /// `tell(round)` wakes the rank that was told; `wait(round, poll)` returns when poll() is true.
    template <class Tell, class Wait>
    void pass(Tell&& tell, Wait&& wait) {
        ++episode_;
        for (int round = 0; round < rounds_; ++round) {
            told_[static_cast<std::size_t>(round)]->arrived.store(episode_, std::memory_order_release);
            tell(round);
            wait(round, [this, round] { return own_[round].arrived.load(std::memory_order_acquire) >= episode_; });
        }
    }

    /// For ranks that are gone: what this rank was told, and telling the others, so that nobody waits for one that gave
    /// up.
    int heard_of_loss() const noexcept {
        for (int round = 0; round < rounds_; ++round)
            if (const auto lost = own_[round].lost.load(std::memory_order_acquire); lost != 0)
                return static_cast<int>(lost) - 1;
        return -1;
    }
    template <class Tell>
    void give_up(int lost, Tell&& tell) {
        for (int round = 0; round < rounds_; ++round) {
            told_[static_cast<std::size_t>(round)]->lost.store(static_cast<std::uint32_t>(lost) + 1,
                                                               std::memory_order_release);
            tell(round);
        }
    }

  private:
    Cell* own_ = nullptr;
    std::array<Cell*, most_rounds> told_{};
    int rounds_ = 0;
    std::uint64_t episode_ = 0;
};

/// A barrier of all ranks of a team. Made by all of them together, under one name. Used by one thread of each rank.
class Barrier {
  public:
    /// Throws as Rank::make and Rank::accept.
    Barrier(Rank me, std::string_view name);

    /// Returns when all ranks have come here; what they stored before is visible then. Throws RankDied or RankLeft when
    /// one of them died, failed, or came to the end of its function without coming here; the barrier cannot be passed
    /// again after that. Costs about half a round trip of a line for each round; over nodes, of the wire.
    void arrive_and_wait() {
        try {
            barrier_.pass(
                [this](int round) { tell(round); },
                [this](int round, auto&& poll) { me_.wait_unless(poll, [this, round] { return hopeless(round); }); });
        } catch (const RankLost& lost) {
            barrier_.give_up(lost.rank(), [this](int round) { tell(round); });
            throw;
        }
    }

  private:
    using Cells = DisseminationBarrier<>;

    void tell(int round) const {
        if (over_nodes_ != nullptr) [[unlikely]]
            tell_over_nodes(round);
        me_.wake(Cells::behind(me_.index(), round, me_.size()));
    }
    void tell_over_nodes(int round) const;
    /// The rank without which this round cannot end, or -1. One that left after it came here is not missed.
    int hopeless(int round) const;

    Rank me_;
    RankMemory own_;
    std::vector<RankMemory> told_;
    /// Over nodes: where the episode is written first, for each round. It is published behind what must be there first.
    std::unique_ptr<BarrierCell<>[]> over_nodes_;
    Cells barrier_;
};

}  // namespace penstock
