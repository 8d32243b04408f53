// task layer, internal: one loop, as its caller and the targets that help see it: pieces, shares of them, who failed.
// It belongs to the caller, which leaves only when all targets that have begun are done.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/task/initiator.hpp"
#include "penstock/error.hpp"
#include "penstock/for_each.hpp"
#include "task/calls/loop_helpers.hpp"
#include "task/calls/loop_shares.hpp"

namespace penstock::loop {

/// A piece's work is at least so many times what its claim costs.
inline constexpr double claims_worth = 32;
/// Pieces that are left in a share when the end comes near.
inline constexpr std::uint32_t pieces_left = 2;

class alignas(128) Loop {
  public:
    explicit Loop(int targets) : shares_(static_cast<std::size_t>(targets) + 1), asked_(shares_.size()) {}

    void begin(std::size_t n, Grain grain, std::size_t most, const Body& body) {
        n_ = n;
        body_ = body;
        automatic_ = grain.is_automatic();
        std::size_t pieces = n;  // sized on the way: items, of which a claim takes several
        if (!automatic_) {
            const auto wished = std::min(grain.items(), n);
            pieces = std::max<std::size_t>(1, n / wished + (n % wished > wished / 2 ? 1 : 0));
        }
        pieces_ = static_cast<std::uint32_t>(std::min<std::size_t>(pieces, ~std::uint32_t{0}));
        least_ = n / pieces_;
        larger_ = n % pieces_;
        const auto fit = most / (least_ + (larger_ != 0 ? 1 : 0));
        most_ = static_cast<std::uint32_t>(std::clamp<std::size_t>(fit, 1, pieces_));
        if (failed()) {  // else targets that look at it keep its line
            failed_.store(false, std::memory_order_relaxed);
            failure_ = nullptr;
        }
        helper_began.store(0, std::memory_order_relaxed);
    }

    /// What one worker knows: how long an item takes, and a claim.
    struct Worker {
        int target = Initiator::any_target;
        std::size_t share = 0;
        double item_ticks = 0;  ///< 0: nothing measured yet
        double claim_ticks = 0;
        std::uint32_t last = 0;       ///< items of the last piece
        std::uint32_t others_of = 1;  ///< workers that may want a part of its share
    };

    std::uint32_t pieces() const noexcept { return pieces_; }
    bool automatic() const noexcept { return automatic_; }
    bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
    /// Of these pieces, for a target: where less than most_items.
    Part part_of(Range pieces) noexcept {
        const Piece items = items_of(pieces);
        Part part;
        part.loop = this;
        part.first = static_cast<std::uint16_t>(items.begin);
        part.items = static_cast<std::uint16_t>(items.size());
        part.pieces = static_cast<std::uint16_t>(pieces.size());
        return part;
    }
    Share<>& share(std::size_t worker) noexcept { return shares_[worker]; }

    /// Runs so many pieces one by one, from item `first` on, of `least` items each, one more in the first `larger`.
    void run_all(void (*body)(void*, Piece), void* argument, std::size_t first, std::size_t pieces, std::size_t least,
                 std::size_t larger, int target) noexcept {
        Piece piece{0, first};
        for (std::size_t number = 0; number != pieces; ++number) {
            piece = {piece.end, piece.end + least + (number < larger ? 1 : 0)};
            run(body, argument, piece, target);
        }
    }
    void run_all(Range pieces, int target) noexcept {
        run_all(body_.run, body_.body, begin_of(pieces.first), pieces.size(), least_,
                larger_ - std::min<std::size_t>(pieces.first, larger_), target);
    }

    /// Takes and runs one piece of the worker's share. False when it has none left.
    bool step(Worker& worker) noexcept {
        Share<>& mine = shares_[worker.share];
        if (const bool lost = failed(); lost || !automatic_) {
            const Range taken = mine.take([&](std::uint32_t left) { return lost ? left : 1; });
            if (taken.size() != 0) run(body_.run, body_.body, items_of(taken), worker.target);
            return taken.size() != 0;
        }
        const auto begin = Clock::ticks();
        const Range taken = mine.take([&](std::uint32_t left) { return claim_of(worker, left); });
        if (taken.size() == 0) return false;
        const auto claimed = Clock::ticks();
        run(body_.run, body_.body, items_of(taken), worker.target);
        learn(worker.item_ticks, static_cast<double>(Clock::ticks() - claimed) / taken.size());
        learn(worker.claim_ticks, static_cast<double>(claimed - begin));
        worker.last = taken.size();
        return true;
    }
    /// Takes from another share what its owner has not begun. False when nobody has anything left.
    bool steal(std::size_t share) noexcept {
        for (std::size_t next = 1; next < shares_.size(); ++next) {
            const Range stolen = shares_[(share + next) % shares_.size()].steal();
            if (stolen.size() == 0) continue;
            shares_[share].give(stolen);
            return true;
        }
        return false;
    }
    bool something_left() const noexcept {
        return std::ranges::any_of(shares_, [](const Share<>& share) { return share.left() != 0; });
    }

    void throw_failure() {
        if (!failed()) return;
        throw TaskFailed(std::string(body_.name) + " (items " + std::to_string(failed_piece_.begin) + " to " +
                             std::to_string(failed_piece_.end - 1) + " of a loop over " + std::to_string(n_) + ")",
                         failed_target_, std::exchange(failure_, nullptr));
    }

    /// By target. The caller's own.
    std::vector<Asked>& asked() noexcept { return asked_; }

  private:
    static void learn(double& known, double measured) noexcept {
        known = known == 0 ? measured : known + (measured - known) / 4;
    }

    // Without n_ * piece, which may not fit.
    std::size_t begin_of(std::uint32_t piece) const noexcept {
        return piece * least_ + std::min<std::size_t>(piece, larger_);
    }
    Piece items_of(Range pieces) const noexcept { return {begin_of(pieces.first), begin_of(pieces.end)}; }

    std::uint32_t claim_of(const Worker& worker, std::uint32_t left) const noexcept {
        std::uint32_t size = 1;
        if (worker.item_ticks > 0) {
            const auto wanted = claims_worth * worker.claim_ticks / worker.item_ticks;
            size = wanted > static_cast<double>(left) ? left : static_cast<std::uint32_t>(wanted);
            size = std::max(size, left / (8 * worker.others_of));  // large while much is left,
            // but what is known comes from a few items at first
            if (worker.last < left / 4) size = std::min(size, 4 * worker.last);
            size = std::min(size, left / (pieces_left * worker.others_of));  // and the last ones are spread over all
        }
        return std::clamp<std::uint32_t>(size, 1, std::min(most_, left));
    }

    void run(void (*body)(void*, Piece), void* argument, Piece piece, int target) noexcept {
        if (failed()) return;
        try {
            body(argument, piece);
        } catch (...) {
            keep_failure(piece, target);
        }
    }

    [[gnu::noinline, gnu::cold]] void keep_failure(Piece piece, int target) noexcept {
        const std::lock_guard lock(mutex_);
        if (failure_) return;
        failure_ = std::current_exception();
        failed_piece_ = piece;
        failed_target_ = target;
        failed_.store(true, std::memory_order_relaxed);
    }

    Body body_{};
    std::size_t least_ = 0;  ///< items of a piece, one more in the first `larger_`
    std::size_t larger_ = 0;
    std::uint32_t pieces_ = 0;
    std::uint32_t most_ = 1;  ///< pieces of one claim: what the local store holds
    bool automatic_ = false;
    alignas(128) std::atomic<bool> failed_{false};
    alignas(128) std::size_t n_ = 0;
    std::vector<Share<>> shares_;  ///< the caller's, then one for each target
    std::vector<Asked> asked_;     ///< by target
    std::mutex mutex_;
    std::exception_ptr failure_;
    Piece failed_piece_;
    int failed_target_ = Initiator::any_target;

  public:
    /// When the first helper began, for the next loop's sake.
    std::atomic<std::uint64_t> helper_began{0};
};

}  // namespace penstock::loop
