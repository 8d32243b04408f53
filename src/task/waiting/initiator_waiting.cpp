// How an initiator waits: what is complete, helping, barriers, circles of targets that wait for one another, failures.

#include "penstock/detail/machine/clock.hpp"
#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/task/initiator.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"
#include "task/dependent/heights.hpp"
#include "task/waiting/notices.hpp"

namespace penstock {
namespace {

/// Says that a thread is inside Penstock's code for the length of a wait: the machine must not go away under it.
class Waiting {
  public:
    explicit Waiting(std::atomic<bool>& flag) noexcept : flag_(flag), outer_(flag.load(std::memory_order_relaxed)) {
        flag.store(true, std::memory_order_relaxed);
    }
    ~Waiting() { flag_.store(outer_, std::memory_order_release); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

  private:
    std::atomic<bool>& flag_;
    bool outer_;
};

constexpr std::chrono::microseconds shortest_wait{200};
constexpr std::chrono::microseconds longest_wait{2000};

/// Where each thread has a processor. On fewer processors whoever looks and pauses keeps those that work from running.
std::uint32_t looks_at_most(std::uint32_t looks, const Waiter& waiter) noexcept {
    return std::min(looks, waiter.policy().spins_before_yield);
}

/// A lone task is back before anything else could be done, so the first looks are at its line alone.
bool back_soon(Lanes& lanes, LaneEnd& lane, Ticket ticket, std::uint32_t looks) noexcept {
    for (std::uint32_t look = 0; look < looks; ++look) {
        if (lanes.complete(lane, ticket)) return true;
        relax();
    }
    return false;
}

}  // namespace

// ---- completion ----

bool Initiator::drained(Scope& scope) noexcept {
    for (LaneEnd& lane : lanes_) {
        const auto last = Handle::number_of(scope.last[lanes_.number_of(lane)]);
        if (last != 0 && !lanes_.complete_through(lane, last)) return false;
    }
    for (Ring* ring : scope.rings)
        if (!ring->drained()) return false;
    return Dependents::drained(scope.dependents);
}

bool Initiator::complete(const Handle& handle, Ring& ring) noexcept {
    if (&ring.owner() != this || shared_ || ring.kind() != Ring::Kind::lane) return handle.complete(ring);
    return lanes_.complete(lanes_[ring.only_target()], handle.ticket());
}

bool Initiator::can_help(const Scope* scope) const noexcept {
    if (scope == nullptr || !helps_) return false;
    for (Ring* ring : scope->rings)
        if (ring->may_run_on(target_) && ring->pending().inviting()) return true;
    if (!scope->dependents.empty()) {
        runner_->look_at_watched();
        return runner_->can_run_ready(scope);
    }
    return false;
}

/// Runs at most `most` waiting tasks of the scope. A barrier takes many at once, because a claim moves the line that
/// all claimants write, and so many at least as are worth a claim. (Targets take their share only: one that empties the
/// deque of a stream finds a task or two at its next look.) A wait for one task takes one, because its task may
/// complete meanwhile.
bool Initiator::help(Scope* scope, std::uint32_t most) {
    if (scope == nullptr || !helps_) return false;
    const auto help_from = [&](Ring& ring) {
        const ClaimSize size{.most = most,
                             .share = ring.only_target() >= 0 ? 1 : core_.workers(),
                             .least = std::min(most, runner_->least_claimed()),
                             .goes_on = true};
        const auto claim = size.claim(ring);
        if (claim.count == 0) return false;
        runner_->run_claimed(ring, claim, counters_.helped, size);
        return true;
    };
    const auto help_from_all = [&](bool urgent_only) {
        for (std::size_t i = 0; i < scope->rings.size(); ++i) {
            Ring& ring = *scope->rings[i];
            if (ring.may_run_on(target_) && (!urgent_only || ring.urgent) && help_from(ring)) return true;
        }
        return false;
    };
    if ((board_.urgent.load(std::memory_order_relaxed) != 0 && help_from_all(true)) || help_from_all(false))
        return true;
    runner_->interrupted();  // what runs next does not follow at once
    if (scope->dependents.empty()) return false;
    runner_->look_at_watched();
    const auto count = runner_->run_ready(scope);
    counters_.helped.add(count);
    return count != 0;
}

/// Throws Stalled when it is asked again and again for as long as the watchdog allows, and no task of the machine has
/// ended meanwhile.
class Vigil {
  public:
    explicit Vigil(Core& core) noexcept : core_(core) {}
    void look(WaitReason reason) {
        const auto longest = core_.options().watchdog;
        if (longest.count() == 0) return;
        const auto now = std::chrono::steady_clock::now();
        if (const auto executed = core_.executed();
            executed != executed_ || since_ == std::chrono::steady_clock::time_point{}) {
            executed_ = executed;
            since_ = now;
        } else if (now - since_ > longest) {
            core_.throw_stalled(reason);
        }
    }

  private:
    Core& core_;
    std::uint64_t executed_ = 0;
    std::chrono::steady_clock::time_point since_{};
};

/// Waits, and throws Stalled when the machine has a watchdog that finds no progress.
template <class Poll>
void Initiator::wait_watched(Waiter& waiter, Poll&& poll, WaitReason reason) {
    const auto longest = core_.options().watchdog;
    if (longest.count() == 0) return waiter.wait(poll, reason);
    for (auto before = core_.executed(); !waiter.wait_for(poll, longest, reason);) {
        const auto now = core_.executed();
        if (now == before) core_.throw_stalled(reason);
        before = now;
    }
}
template <class Poll>
void Initiator::wait_watched(Poll&& poll, WaitReason reason) {
    wait_watched(waiter_, poll, reason);
}

void Initiator::wait_for_room(const std::function<bool()>& found, WaitReason reason) {
    const auto begin = Clock::ticks();
    counters_.stalls.add();
    sample_spoilt_ = true;
    counters_.stall_ticks.begin(begin);
    wait_watched(found, reason);
    const auto end = Clock::ticks();
    counters_.stall_ticks.end(end);
    if (timeline_.enabled())
        timeline_.record({.begin = begin, .end = end, .kind = trace::EventKind::stall, .issuer = track_});
}

/// Waits for all tasks of the machine.
void Initiator::wait_for_all(WaitReason reason) {
    const auto done = [this] { return core_.all_executed(); };
    if (!shared_) return wait_watched(done, reason);
    Waiter waiter(core_.wait_policy());  // several threads may be here
    wait_watched(waiter, done, reason);
}

/// Waits for what nobody rings for. Comes back with the length of the next such wait.
template <class Poll>
std::chrono::microseconds Initiator::wait_a_while(Poll&& poll, std::chrono::microseconds limit, WaitReason reason) {
    return waiter_.wait_for(poll, limit, reason) ? shortest_wait : std::min(2 * limit, longest_wait);
}

/// Waits with nothing to do, and counts the time: each wait beyond a microsecond exactly, the shorter ones as nothing.
/// May come back early: with mail, the caller looks for itself.
template <class Poll>
void Initiator::wait_until(Poll&& poll, WaitReason reason) {
    for (std::uint32_t looks = 0; looks < looks_at_most(64, waiter_); ++looks) {
        if (poll()) return;
        relax();
    }
    counters_.waits.add();
    counters_.sampled_waits.add();
    const auto begin = Clock::ticks();
    sample_spoilt_ = true;
    if (!waits_for_mail()) wait_watched(poll, reason);
    else if (core_.options().notification == Notification::interrupt) {
        for (Vigil vigil(core_); !notices_->mail() && !poll(); vigil.look(reason)) {
            notices_->sleep(std::chrono::milliseconds(20));
            core_.give_back_what_is_held_up(*this);
        }
    } else {
        // Mostly its own line alone, not those that the targets write with each task.
        std::uint32_t looks = 0;
        const auto mail = [&] { return notices_->mail() || ((++looks % 64 == 0 || waiter_.parked()) && poll()); };
        wait_watched(mail, reason);
    }
    const auto end = Clock::ticks();
    counters_.sampled_wait_ticks.add(end - begin);
    if (timeline_.enabled())
        timeline_.record(
            {.begin = begin, .end = end, .kind = trace::EventKind::wait, .issuer = track_, .target = track_});
}

void Initiator::barrier() {
    require_here();
    const auto alone = this->alone();
    Scope* const mine = scope_;
    if (mine == nullptr) return;  // inside a task that issued nothing
    const Waiting inside(waiting_);
    const AwaitedTasks awaited{.who = *this, .scope = mine};
    // What it mostly finds: tasks that are back before anything else could be done, in lanes or claimed by others. Each
    // look is followed by a pause (see Target::serve()). False: there is something to do, or it takes longer.
    const auto drained_soon = [&] {
        if (mine != &base_ || !mine->dependents.empty() || notices_ != nullptr) return false;
        for (std::uint32_t looks = looks_at_most(64, waiter_); looks != 0; --looks) {
            if (drained(*mine)) return true;
            if (can_help(mine)) return false;
            lanes_.pace();
            relax();
        }
        return false;
    };
    auto limit = shortest_wait;
    while (!drained_soon() && (!drained(*mine) || notices_left(*mine))) {
        if (callbacks_due()) {
            run_callbacks();
            continue;
        }
        if (help(mine, Target::most_claimed) || awaited.run()) continue;
        const Circles::Wait wait(awaited);
        std::uint32_t looks = 0;
        const auto poll = [&] {
            if (callbacks_due() || can_help(mine) || (drained(*mine) && !notices_left(*mine))) return true;
            look_for_held_up(++looks);
            lanes_.pace();
            return false;
        };
        if (mine->dependents.empty() || !in_task()) wait_until(poll, {"its tasks", 0});
        else limit = wait_a_while(poll, limit, {"its tasks", 0});
    }
    if (mine == &base_) {
        deque_idle_ = true;
        unnoticed_ = false;
        if (stream_ != nullptr) stream_ = nullptr;  // always null where several threads share an initiator
    }
    // Everything is free again, so start over with the smallest part, which the nearest cache holds.
    const auto smallest = std::find_if(mine->rings.begin(), mine->rings.end(), [](const Ring* part) {
        return !part->urgent && part->only_target() == any_target;
    });
    if (smallest != mine->rings.end()) mine->current = *smallest;
    if (mine == &base_)
        for (LaneEnd& lane : lanes_) lane.overflow = nullptr;
    std::vector<Failure> failures;
    // Of what was told already something may have to be forgotten: behind a barrier dependent tasks run again.
    const auto never_failed = [](const Ring* ring) { return !ring->may_have_failed(1) && !ring->cancels(); };
    if (!mine->dependents.empty() || !never_failed(immediate_) || !std::ranges::all_of(mine->rings, never_failed) ||
        !std::ranges::all_of(lanes_,
                             [&](const LaneEnd& lane) { return lane.ring == nullptr || never_failed(lane.ring); }))
        collect_failures(*mine, failures);
    if (mine == &base_ && board_.urgent.load(std::memory_order_relaxed) != 0) close_urgent_rings(*mine);
    if (!failures.empty()) Core::throw_first(std::move(failures));
    if (notices_ != nullptr && mine == &base_) notices_->throw_failures();
}

void Initiator::wait_for(const Handle& handle, Ring& ring, bool helping) {
    const bool own = &ring.owner() == this && !shared_;
    if (own && ring.kind() == Ring::Kind::lane &&
        back_soon(lanes_, lanes_[ring.only_target()], handle.ticket(), looks_at_most(256, waiter_))) {
        if (!ring.may_have_failed(handle.ticket().number)) [[likely]]
            return;
        return throw_failure_of(handle, ring);
    }
    if (!complete(handle, ring)) {
        Scope* const mine = scope_;
        helping = (helping && own) || in_task();
        const AwaitedTasks awaited{.who = *this, .handles = std::span(&handle, 1)};
        const bool rung = own && !(in_task() && ring.kind() == Ring::Kind::dependent);  // when it might go on
        std::uint32_t looks = 0;
        const auto poll = [&] {
            if (complete(handle, ring) || callbacks_due()) return true;
            if (!helping) return false;
            if (can_help(mine) || (in_task() && awaited.can_run())) return true;
            look_for_held_up(++looks);
            return false;
        };
        const WaitReason reason{Core::waits_for_target, static_cast<std::uint64_t>(ring.only_target() + 1)};
        const Waiting inside(waiting_);
        Vigil vigil(core_);
        auto limit = shortest_wait;
        while (!complete(handle, ring)) {
            if (callbacks_due()) {
                run_callbacks();
                continue;
            }
            if (helping && (awaited.run() || help(mine, 1))) continue;
            const Circles::Wait wait(awaited);
            if (rung) {
                wait_until(poll, reason);
                continue;
            }
            limit = wait_a_while(poll, limit, reason);
            vigil.look(reason);
        }
    }
    if (callbacks_due()) run_callbacks();
    if (own && !deque_idle_ && scope_ == &base_ && ring.kind() == Ring::Kind::pending &&
        board_.mixed.load(std::memory_order_relaxed) == 0)
        deque_idle_ = deferred_are_done();
    if (deque_idle_ && stream_ != nullptr) stream_ = nullptr;
    throw_failure_of(handle, ring);
}

void Initiator::wait_while_helping(const std::function<bool()>& ready, const AwaitedTasks& awaited) {
    Scope* const mine = scope_;
    const Waiting inside(waiting_);
    const WaitReason reason{"one of several tasks", 0};
    std::uint32_t looks = 0;
    const auto poll = [&] {
        if (ready() || callbacks_due() || can_help(mine)) return true;
        look_for_held_up(++looks);
        return false;
    };
    OrderByHeight order(core_.heights(), awaited.dependents, core_.workers());
    const auto run_timed = [&] {
        if (mine == nullptr || !helps_ || !order.wants_time()) return false;
        const auto begin = Clock::ticks();
        const auto count = runner_->run_ready(mine, 8);
        if (count == 0) return false;
        counters_.helped.add(count);
        if (order.timed((Clock::ticks() - begin) / count)) runner_->order_ready();
        return true;
    };
    auto limit = shortest_wait;
    for (Vigil vigil(core_); !ready(); vigil.look(reason)) {
        if (callbacks_due()) {
            run_callbacks();
        } else if (!awaited.run() && !run_timed() && !help(mine, 1)) {
            const Circles::Wait wait(awaited);
            limit = wait_a_while(poll, limit, reason);
        }
    }
}

void Initiator::wait_for_dependents(const std::vector<Ring*>& rings) {
    require_here();
    const auto alone = this->alone();
    wait_while_helping([&] { return Dependents::drained(rings); }, {.who = *this, .dependents = &rings});
    if (scope_ == &base_ && !shared_) deque_idle_ = deferred_are_done();
    std::vector<Failure> failures;
    Dependents::collect_failures(rings, failures);
    if (!failures.empty()) Core::throw_first(std::move(failures));
}

void Initiator::throw_failure_of(const Handle& handle, Ring& ring) {
    if (!ring.may_have_failed(handle.ticket().number)) [[likely]]
        return;
    const auto failure = ring.failure_of(handle.ticket().number, handle.generation_);
    if (!failure) return;
    if (failure->cancelled) std::rethrow_exception(failure->cause);
    throw TaskFailed(failure->task, failure->target, failure->cause);
}

bool Initiator::deferred_are_done() noexcept {
    return std::ranges::all_of(base_.rings, [](Ring* part) { return part->drained(); }) &&
           Dependents::drained(base_.dependents);
}

/// Has no task failed (and none been cancelled) in any ring that this scope used?
bool Initiator::clean(const Scope& scope) const noexcept {
    const auto good = [](const Ring* ring) { return ring->clean() && !ring->cancels(); };
    for (const LaneEnd& lane : lanes_)
        if (scope.last[lanes_.number_of(lane)] != 0 && !good(lane.ring)) return false;
    return std::all_of(scope.rings.begin(), scope.rings.end(), good) &&
           std::all_of(scope.dependents.begin(), scope.dependents.end(), good) && good(immediate_);
}

/// Adds the failures of the scope's own tasks: lanes and the immediate ring also hold those of the scopes around it.
void Initiator::collect_failures(Scope& scope, std::vector<Failure>& failures) {
    if (!clean(scope)) core_.judge_watched();
    const auto take = [&](Ring& ring, std::uint64_t after, std::uint64_t until) {
        if (ring.cancels()) ring.forget_cancellations(after, until);
        ring.take_failures(failures, after, until);
    };
    for (std::size_t t = 0; t < scope.last.size(); ++t)
        if (scope.last[t] != 0)
            take(*lanes_[static_cast<int>(t)].ring, scope.before[t], Handle::number_of(scope.last[t]));
    for (Ring* ring : scope.rings) take(*ring, 0, Ring::no_limit);
    Dependents::collect_failures(scope.dependents, failures);
    take(*immediate_, scope.immediate_before, scope.immediate_until);
}

/// For polls of those who could run more.
void Initiator::look_for_held_up(std::uint32_t looks) const noexcept {
    if (looks % 256 == 0 || waiter_.parked()) core_.give_back_what_is_held_up(*this);
}

}  // namespace penstock
