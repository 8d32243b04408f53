// Loops in pieces. The caller and helpers, tasks of which there is at most one for each target, claim pieces from one
// counter until none is left: so uneven pieces balance, a busy target takes part when it gets round to it, and nobody
// waits for a helper that has not begun.
//
// Where there is a piece for each worker at most, and nothing else of this thread is under way, nobody has to claim:
// each piece but the caller's is a call, which an idle target gets in its lane, and which the caller runs itself where
// none has taken it. A step of few tasks costs a third of what the counter costs (`./bench granularity`).
//
// Happens-before. A claim hands over nothing but indices (relaxed). What a piece wrote is published by
// finished_.fetch_add(release) and acquired by the caller's load that sees all of them. The body lies on the caller's
// stack: it is used only between a claim and the finished_ that belongs to it, and the caller leaves only when all
// claimed items are finished. What a call wrote is acquired by the wait for its handle.
#include "penstock/for_each.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
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

/// Cuts n items into pieces that differ by one item at most.
struct EqualPieces {
    std::size_t n;
    std::size_t count = 0;  ///< 0: sized on the way

    EqualPieces(std::size_t items, Grain grain) : n(items) {
        if (grain.is_automatic()) return;
        const auto wished = std::min(grain.items(), n);
        count = std::max<std::size_t>(1, n / wished + (n % wished > wished / 2 ? 1 : 0));
    }
    /// Without n * piece, which may not fit.
    std::size_t begin(std::size_t piece) const noexcept { return piece * (n / count) + std::min(piece, n % count); }
    Piece at(std::size_t piece) const noexcept { return {begin(piece), begin(piece + 1)}; }
};

/// The first failure of a loop.
class Failure {
  public:
    /// Runs the body on a piece, unless one has failed before.
    void run(const Body& body, Piece piece, int target) noexcept {
        if (failed_.load(std::memory_order_relaxed)) return;
        try {
            body.run(body.body, piece);
        } catch (...) {
            keep(std::current_exception(), piece, target);
        }
    }
    /// Behind the end of all pieces.
    void throw_it(const Body& body, std::size_t n) {
        if (!failed_.load(std::memory_order_relaxed)) [[likely]]
            return;
        throw TaskFailed(std::string(body.name) + " (items " + std::to_string(piece_.begin) + " to " +
                             std::to_string(piece_.end - 1) + " of a loop over " + std::to_string(n) + ")",
                         target_, cause_);
    }

    [[gnu::noinline, gnu::cold]] void keep(std::exception_ptr cause, Piece piece, int target) noexcept {
        const std::lock_guard lock(mutex_);
        if (cause_) return;
        cause_ = std::move(cause);
        piece_ = piece;
        target_ = target;
        failed_.store(true, std::memory_order_relaxed);
    }

  private:
    std::atomic<bool> failed_{false};
    std::mutex mutex_;
    std::exception_ptr cause_;
    Piece piece_;
    int target_ = Initiator::any_target;
};

class Loop {
  public:
    Loop(const EqualPieces& pieces, std::size_t most, std::size_t workers, const Body& body)
        : pieces_(pieces), n_(pieces.n), most_(std::max<std::size_t>(most, 1)), workers_(workers), body_(body) {}

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
        const Piece piece = equal_pieces() ? claim_equal() : claim_automatic(worker);
        if (piece.size() == 0) return false;
        const auto claimed = Clock::ticks();
        failure.run(body_, piece, worker.target);
        const auto ticks = static_cast<double>(Clock::ticks() - claimed);
        learn(worker.item_ticks, ticks / static_cast<double>(piece.size()));
        learn(worker.claim_ticks, static_cast<double>(claimed - begin));
        worker.last = piece.size();
        if (finished_.fetch_add(piece.size(), std::memory_order_acq_rel) + piece.size() == n_) finished_.notify_all();
        return true;
    }

    std::size_t left() const noexcept {
        const auto next = next_.load(std::memory_order_relaxed);
        return equal_pieces() ? (next < pieces_.count ? n_ - pieces_.begin(next) : 0) : (next < n_ ? n_ - next : 0);
    }
    bool equal_pieces() const noexcept { return pieces_.count != 0; }
    std::size_t pieces_to_come() const noexcept {
        const auto next = next_.load(std::memory_order_relaxed);
        return !equal_pieces() ? left() : next < pieces_.count ? pieces_.count - next : 0;
    }

    void wait() const noexcept {
        for (auto done = finished_.load(std::memory_order_acquire); done != n_;
             done = finished_.load(std::memory_order_acquire)) {
            finished_.wait(done, std::memory_order_acquire);
            forget_upper_halves();  // it may have slept
        }
    }
    /// When the first helper began, for the next loop's sake.
    std::atomic<std::uint64_t> helper_began{0};
    Failure failure;

  private:
    static void learn(double& known, double measured) noexcept {
        known = known == 0 ? measured : known + (measured - known) / 4;
    }

    Piece claim_equal() noexcept {
        const auto piece = next_.fetch_add(1, std::memory_order_relaxed);
        return piece < pieces_.count ? pieces_.at(piece) : Piece{};
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

    const EqualPieces pieces_;
    const std::size_t n_;
    const std::size_t most_;  ///< items that the local store holds
    const std::size_t workers_;
    const Body body_;
    alignas(128) std::atomic<std::size_t> next_{0};      ///< the first item, or piece, that nobody has claimed
    alignas(128) std::atomic<std::size_t> finished_{0};  ///< items
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

/// Has everything completed that this thread has issued, so that its deque holds what comes now and nothing else, and a
/// target in whose lane it goes is idle (MachineBoard::mixed)?
bool nothing_under_way(Initiator& mine) {
    if (mine.in_task() || mine.shared() || !mine.helps()) return false;
    const Scope& scope = mine.scope();
    return std::ranges::all_of(mine.lanes(), [](const LaneEnd& lane) { return lane.producer.known_empty(); }) &&
           std::ranges::all_of(scope.rings, &Ring::drained) && Dependents::drained(scope.dependents);
}

/// A loop of few pieces, where nothing else is under way. Each but the caller's is a call that carries all that it
/// needs, the body too where it is short: each line of the caller's stack that a target reads costs as much as a call.
class FewPieces {
  public:
    static constexpr std::size_t most = 16;

    static bool take(const EqualPieces& pieces, std::size_t workers) noexcept {
        return pieces.count != 0 && pieces.count <= std::min(workers, most) &&
               pieces.n <= std::numeric_limits<std::uint32_t>::max();
    }

    FewPieces(Machine& machine, const EqualPieces& pieces, const Body& body)
        : machine_(machine), pieces_(pieces), body_(body) {}
    void run() {
        std::array<Handle, most> handles;
        std::size_t issued = 1;
        try {
            for (; issued < pieces_.count; ++issued) handles[issued] = issue(pieces_.at(issued));
        } catch (const Error&) {  // no room for more calls: this thread runs the pieces
        } catch (const std::bad_alloc&) {
        }
        const int here = machine_.initiator().target();
        failure_.run(body_, pieces_.at(0), here);
        for (std::size_t piece = issued; piece < pieces_.count; ++piece) failure_.run(body_, pieces_.at(piece), here);
        for (std::size_t piece = issued; piece-- > 1;) wait_for(handles[piece], pieces_.at(piece));
        failure_.throw_it(body_, pieces_.n);
    }

  private:
    struct Bounds {
        std::uint32_t begin, end;
    };
    struct Copy {
        alignas(8) std::byte bytes[24];  // all of it lies in the descriptor's own line
    };
    static void run_there(void (*run)(void*, Piece), void* body, Bounds piece) { run(body, {piece.begin, piece.end}); }
    static void run_copy(void (*run)(void*, Piece), Copy body, Bounds piece) { run(&body, {piece.begin, piece.end}); }

    Handle issue(Piece piece) {
        const Bounds bounds{static_cast<std::uint32_t>(piece.begin), static_cast<std::uint32_t>(piece.end)};
        if (body_.bytes == 0 || body_.bytes > sizeof(Copy))
            return machine_.call<&FewPieces::run_there>(body_.run, body_.body, bounds);
        Copy copy;
        std::memcpy(copy.bytes, body_.body, body_.bytes);
        return machine_.call<&FewPieces::run_copy>(body_.run, copy, bounds);
    }
    void wait_for(const Handle& handle, Piece piece) {
        try {
            handle.wait(help);
        } catch (const TaskFailed& failed) {
            failure_.keep(failed.cause(), piece, failed.target());
        } catch (...) {  // it was not run; the other pieces may still use the body
            failure_.keep(std::current_exception(), piece, TaskFailed::unknown_target);
        }
    }

    Machine& machine_;
    const EqualPieces& pieces_;
    const Body& body_;
    Failure failure_{};
};

}  // namespace

void run(Machine& machine, std::size_t n, std::size_t item_bytes, Grain grain, const Body& body) {
    if (n == 0) return;
    Core::of(machine).backend().require(Backend::Ability::loops);
    auto& mine = machine.initiator();
    const auto targets = static_cast<std::size_t>(machine.targets());
    const EqualPieces pieces(n, grain);
    if (FewPieces::take(pieces, targets + 1) && nothing_under_way(mine)) return FewPieces{machine, pieces, body}.run();
    const auto most = item_bytes == 0 ? n : mine.local_store_bytes() / item_bytes;
    const auto loop = std::make_shared<Loop>(pieces, most, targets + 1, body);
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
    loop->failure.throw_it(body, n);
}

}  // namespace penstock::loop

namespace penstock {

std::atomic<std::uint64_t>& Machine::hand_off_ticks() noexcept { return core_->hand_off_ticks(); }

}  // namespace penstock
