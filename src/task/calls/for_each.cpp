// Loops in pieces. The caller and helpers, tasks of which there is at most one for each target, claim pieces from one
// counter until none is left: so uneven pieces balance, a busy target takes part when it gets round to it, and nobody
// waits for a helper that has not begun.
//
// Happens-before. A claim hands over nothing but indices (relaxed). What a piece wrote is published by
// finished_.fetch_add(release) and acquired by the caller's load that sees all of them. The body lies on the caller's
// stack: it is used only between a claim and the finished_ that belongs to it, and the caller leaves only when all
// claimed items are finished.
#include "penstock/for_each.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <mutex>

#include "machine/upper_halves.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/error.hpp"
#include "task/calls/core.hpp"

namespace penstock::loop {
namespace {

/// A piece's work is at least so many times what its claim costs.
constexpr double claims_worth = 32;
/// Pieces that are left for each worker when the end comes near.
constexpr std::size_t pieces_left = 2;

class Loop {
  public:
    Loop(std::size_t n, Grain grain, std::size_t most, std::size_t workers, const Body& body)
        : n_(n), most_(std::max<std::size_t>(most, 1)), workers_(workers), body_(body) {
        if (grain.is_automatic()) return;
        const auto wished = std::min(grain.items(), n);
        pieces_ = std::max<std::size_t>(1, n / wished + (n % wished > wished / 2 ? 1 : 0));
    }

    /// What one worker knows: how long an item takes, and a claim.
    struct Worker {
        int target = Initiator::any_target;
        double item_ticks = 0;  ///< 0: nothing measured yet
        double claim_ticks = 0;
        std::size_t last = 0;  ///< items of the last piece
    };

    /// Claims and runs one piece. False when none is left.
    bool step(Worker& worker) {
        const auto begin = Clock::ticks();
        const Piece piece = pieces_ != 0 ? claim_equal() : claim_automatic(worker);
        if (piece.size() == 0) return false;
        const auto claimed = Clock::ticks();
        if (!failed_.load(std::memory_order_relaxed)) {
            try {
                body_.run(body_.body, piece);
            } catch (...) {
                keep_failure(piece, worker.target);
            }
        }
        const auto ticks = static_cast<double>(Clock::ticks() - claimed);
        learn(worker.item_ticks, ticks / static_cast<double>(piece.size()));
        learn(worker.claim_ticks, static_cast<double>(claimed - begin));
        worker.last = piece.size();
        if (finished_.fetch_add(piece.size(), std::memory_order_acq_rel) + piece.size() == n_) finished_.notify_all();
        return true;
    }

    std::size_t left() const noexcept {
        const auto next = next_.load(std::memory_order_relaxed);
        return pieces_ != 0 ? (next < pieces_ ? n_ - piece_begin(next) : 0) : (next < n_ ? n_ - next : 0);
    }
    bool equal_pieces() const noexcept { return pieces_ != 0; }
    std::size_t pieces_to_come() const noexcept {
        const auto next = next_.load(std::memory_order_relaxed);
        return pieces_ == 0 ? left() : next < pieces_ ? pieces_ - next : 0;
    }

    void wait() const noexcept {
        for (auto done = finished_.load(std::memory_order_acquire); done != n_;
             done = finished_.load(std::memory_order_acquire)) {
            finished_.wait(done, std::memory_order_acquire);
            forget_upper_halves();  // it may have slept
        }
    }
    void throw_failure() {
        if (!failed_.load(std::memory_order_relaxed)) return;
        throw TaskFailed(std::string(body_.name) + " (items " + std::to_string(failed_piece_.begin) + " to " +
                             std::to_string(failed_piece_.end - 1) + " of a loop over " + std::to_string(n_) + ")",
                         failed_target_, failure_);
    }

    /// When the first helper began, for the next loop's sake.
    std::atomic<std::uint64_t> helper_began{0};

  private:
    static void learn(double& known, double measured) noexcept {
        known = known == 0 ? measured : known + (measured - known) / 4;
    }

    // Without n_ * piece, which may not fit.
    std::size_t piece_begin(std::size_t piece) const noexcept {
        return piece * (n_ / pieces_) + std::min(piece, n_ % pieces_);
    }

    Piece claim_equal() noexcept {
        const auto piece = next_.fetch_add(1, std::memory_order_relaxed);
        if (piece >= pieces_) return {};
        return {piece_begin(piece), piece_begin(piece + 1)};
    }

    Piece claim_automatic(const Worker& worker) noexcept {
        auto begin = next_.load(std::memory_order_relaxed);
        for (;;) {
            if (begin >= n_) return {};
            const auto left = n_ - begin;
            std::size_t size = 1;
            if (worker.item_ticks > 0) {
                const auto wanted = claims_worth * worker.claim_ticks / worker.item_ticks;
                size = wanted < 1 ? 1 : wanted > static_cast<double>(left) ? left : static_cast<std::size_t>(wanted);
                size = std::max(size, left / (8 * workers_));  // large while much is left,
                // but what is known comes from a few items at first
                size = std::min(size, 4 * worker.last);
                size = std::min(size, left / (pieces_left * workers_));  // and the last ones are spread over all
            }
            size = std::clamp<std::size_t>(size, 1, most_);
            if (next_.compare_exchange_weak(begin, begin + std::min(size, left), std::memory_order_relaxed))
                return {begin, begin + std::min(size, left)};
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

    const std::size_t n_;
    const std::size_t most_;  ///< items that the local store holds
    const std::size_t workers_;
    const Body body_;
    std::size_t pieces_ = 0;                             ///< equal ones; 0: sized on the way
    alignas(128) std::atomic<std::size_t> next_{0};      ///< the first item, or piece, that nobody has claimed
    alignas(128) std::atomic<std::size_t> finished_{0};  ///< items
    std::atomic<bool> failed_{false};
    std::mutex mutex_;
    std::exception_ptr failure_;
    Piece failed_piece_;
    int failed_target_ = Initiator::any_target;
};

/// How long an item took in this thread's last loop over each of a few bodies, in ticks: a loop that comes again is
/// shared from its first item on. A guess for another body costs a hand-off at most.
double& last_item_ticks(const Body& body) noexcept {
    struct Known {
        void (*run)(void*, Piece) = nullptr;
        double item_ticks = 0;
    };
    static thread_local std::array<Known, 16> table;
    auto& known = table[std::hash<void (*)(void*, Piece)>{}(body.run) / 16 % table.size()];  // functions are aligned
    if (known.run != body.run) known = {body.run, 0};
    return known.item_ticks;
}

}  // namespace

void run(Machine& machine, std::size_t n, std::size_t item_bytes, Grain grain, const Body& body) {
    if (n == 0) return;
    Core::of(machine).backend().require(Backend::Ability::loops);
    auto& mine = machine.initiator();
    const auto targets = static_cast<std::size_t>(machine.targets());
    const auto most = item_bytes == 0 ? n : mine.local_store_bytes() / item_bytes;
    const auto loop = std::make_shared<Loop>(n, grain, most, targets + 1, body);
    Loop::Worker me{.target = mine.target()};
    const auto hand_off = static_cast<double>(machine.hand_off_ticks().load(std::memory_order_relaxed));
    // Automatic pieces are run alone at first, unless their last loop says that they are worth a hand-off: others are
    // asked when what is left is, as far as the first items tell.
    const double known = last_item_ticks(body);
    const auto worth_sharing = [&](std::uint64_t begin) {
        if (loop->equal_pieces() || known >= hand_off) return true;
        return static_cast<double>(Clock::ticks() - begin) >= hand_off &&
               me.item_ticks * static_cast<double>(loop->left()) >= 2 * hand_off;
    };
    const auto begin = Clock::ticks();
    while (targets != 0 && !worth_sharing(begin) && loop->step(me)) {
    }
    std::uint64_t issued = 0;
    if (targets != 0 && loop->left() != 0) {
        issued = Clock::ticks();
        const auto helpers = std::min(targets, loop->pieces_to_come() - 1);
        const auto ask = [&] {
            machine.call(boxed([loop, &machine] {
                if (loop->left() == 0) return;  // the machine may be gone as well
                std::uint64_t none = 0;
                loop->helper_began.compare_exchange_strong(none, Clock::ticks(), std::memory_order_relaxed);
                Loop::Worker worker{.target = machine.initiator().target()};
                while (loop->step(worker)) {
                }
            }));
        };
        try {
            for (std::size_t h = 0; h < helpers; ++h) ask();
        } catch (const Error&) {
            // No room for more helpers: this thread does what they do not. It must not leave while those that were
            // asked use the body.
        } catch (const std::bad_alloc&) {
        }
    }
    while (loop->step(me)) {
    }
    loop->wait();
    if (me.item_ticks > 0) last_item_ticks(body) = me.item_ticks;
    if (const auto began = loop->helper_began.load(std::memory_order_relaxed); issued != 0 && began > issued) {
        // The shortest of late, forgotten slowly: a helper that began late was most likely not waiting for work.
        const auto measured = static_cast<double>(began - issued);
        const auto next = measured < hand_off ? measured : hand_off * 1.1;
        machine.hand_off_ticks().store(static_cast<std::uint64_t>(next) + 1, std::memory_order_relaxed);
    }
    loop->throw_failure();
}

}  // namespace penstock::loop

namespace penstock {

std::atomic<std::uint64_t>& Machine::hand_off_ticks() noexcept { return core_->hand_off_ticks(); }

}  // namespace penstock
