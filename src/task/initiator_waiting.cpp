// How an initiator waits: what is complete, helping, barriers, circles of targets that wait for one another, failures.
#include <algorithm>
#include <string>

#include "penstock/clock.hpp"
#include "penstock/error.hpp"
#include "penstock/initiator.hpp"
#include "task/core.hpp"
#include "task/notices.hpp"
#include "task/runner.hpp"

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

}  // namespace

// ---- completion ----

bool Initiator::lane_complete(LaneEnd& lane, std::uint64_t number) noexcept {
    if (lane.producer.known_empty()) return true;
    const bool complete = lane.producer.complete_through(number);
    if (lane.producer.known_empty()) ++lanes_idle_;
    return complete;
}

bool Initiator::drained(Scope& scope) noexcept {
    for (int t = 0; t < target_count_; ++t) {
        const auto last = Handle::number_of(scope.last[static_cast<std::size_t>(t)]);
        if (last != 0 && !lane_complete(lanes_[static_cast<std::size_t>(t)], last)) return false;
    }
    for (auto* list : {&scope.rings, &scope.named})
        for (Ring* ring : *list) {
            if (ring->isolated()) ring->forward_through(ring->pending().appended());
            if (!ring->pending().drained()) return false;
        }
    return dependents_drained(scope.dependents);
}

bool Initiator::complete(const Handle& handle, Ring& ring) noexcept {
    if (&ring.owner() != this || shared_ || ring.kind() != Ring::Kind::lane) return handle.complete(ring);
    LaneEnd& lane = lanes_[static_cast<std::size_t>(ring.only_target())];
    if (lane.producer.known_empty()) return true;
    if (!lane.producer.complete(handle.ticket())) return false;
    if (lane.producer.known_empty()) ++lanes_idle_;
    return true;
}

/// Each look at a lane's completion line takes it from the target, which writes it with every task: the more tasks are still
/// outstanding there, the longer until the next look. Always false.
bool Initiator::pace() const noexcept {
    std::uint64_t outstanding = 0;
    for (int t = 0; t < target_count_; ++t) outstanding += lanes_[static_cast<std::size_t>(t)].producer.outstanding();
    for (std::uint64_t breath = std::min<std::uint64_t>(outstanding, 32); breath > 1; --breath) relax();
    return false;
}

bool Initiator::can_help(const Scope* scope) const noexcept {
    if (scope == nullptr || host_ != nullptr) return false;  // nobody runs a process target's tasks in its place
    for (Ring* ring : scope->rings)
        if (ring->pending().inviting()) return true;
    for (Ring* ring : scope->named)
        if (ring->only_target() == target_ && ring->pending().inviting()) return true;
    if (!scope->dependents.empty()) {
        runner_->look_at_watched();
        return runner_->can_run_ready(scope);
    }
    return false;
}

/// Runs at most `most` waiting tasks of the scope. A barrier takes many at once, because a claim moves the line that all
/// claimants write; a wait for one task takes one, because its task may complete meanwhile.
bool Initiator::help(Scope* scope, std::uint32_t most) {
    if (scope == nullptr || host_ != nullptr) return false;
    const auto claimant = target_ == any_target ? static_cast<std::uint32_t>(target_count_) : static_cast<std::uint32_t>(target_);
    const auto help_from = [&](Ring& ring) {
        const auto claim = ring.pending().claim(most, ring.only_target() >= 0 ? 1 : core_.workers());
        if (claim.count == 0) return false;
        counters_.helped.add(claim.count);
        runner_->run_claimed(ring, claim, claimant);
        return true;
    };
    const auto help_from_all = [&](bool urgent_only) {
        for (std::size_t i = 0; i < scope->rings.size(); ++i)
            if ((!urgent_only || scope->rings[i]->urgent) && help_from(*scope->rings[i])) return true;
        for (std::size_t i = 0; i < scope->named.size(); ++i)
            if (scope->named[i]->only_target() == target_ && (!urgent_only || scope->named[i]->urgent) && help_from(*scope->named[i]))
                return true;
        return false;
    };
    if ((board_.urgent.load(std::memory_order_relaxed) != 0 && help_from_all(true)) || help_from_all(false)) return true;
    if (scope->dependents.empty()) return false;
    runner_->look_at_watched();
    const auto count = runner_->run_ready(scope);
    counters_.helped.add(count);
    return count != 0;
}

/// Throws Stalled when it is asked again and again for as long as the watchdog allows, and no task of the machine has ended meanwhile.
class Vigil {
  public:
    explicit Vigil(Core& core) noexcept : core_(core) {}
    void look(WaitReason reason) {
        const auto longest = core_.options().watchdog;
        if (longest.count() == 0) return;
        const auto now = std::chrono::steady_clock::now();
        if (const auto executed = core_.executed(); executed != executed_ || since_ == std::chrono::steady_clock::time_point{}) {
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

void Initiator::wait_for_room(const std::function<bool()>& found, WaitReason reason) { wait_watched(found, reason); }

/// Waits for all tasks of the machine.
void Initiator::wait_for_all(WaitReason reason) {
    const auto done = [this] { return core_.all_executed(); };
    if (!shared_) return wait_watched(done, reason);
    Waiter waiter(core_.wait_policy());  // several threads may be here
    wait_watched(waiter, done, reason);
}

/// Waits with nothing to do, and counts the time: each wait beyond a microsecond exactly, the shorter ones as nothing. May come back early:
/// with mail, the caller looks for itself.
template <class Poll>
void Initiator::wait_until(Poll&& poll, WaitReason reason) {
    for (int looks = 0; looks < 64; ++looks)
        if (poll()) return;
    counters_.waits.add();
    counters_.sampled_waits.add();
    const auto begin = Clock::ticks();
    sample_spoilt_ = true;
    if (!waits_for_mail()) wait_watched(poll, reason);
    else if (core_.options().notification == Notification::interrupt) {
        for (Vigil vigil(core_); !notices_->mail(); vigil.look(reason)) notices_->sleep(std::chrono::milliseconds(20));
    } else wait_watched([this] { return notices_->mail(); }, reason);
    const auto end = Clock::ticks();
    counters_.sampled_wait_ticks.add(end - begin);
    if (timeline_.enabled())
        timeline_.record({.begin = begin, .end = end, .kind = trace::EventKind::wait, .issuer = track_, .target = track_});
}

void Initiator::barrier() {
    require_here();
    std::unique_lock<std::recursive_mutex> sharing;
    if (shared_) sharing = std::unique_lock{sharing_};
    Scope* const mine = scope_;
    if (mine == nullptr) return;  // inside a task that issued nothing
    const Waiting inside(waiting_);
    if (!mine->dependents.empty() && runner_->dependents_running() != nullptr) check_for_own_successor({}, mine);
    while (!drained(*mine) || notices_left(*mine)) {
        if (callbacks_due()) {
            run_callbacks();
            continue;
        }
        if (help(mine, Target::most_claimed)) continue;
        if (target_ == any_target) {
            wait_until([&] { return callbacks_due() || can_help(mine) || (drained(*mine) && !notices_left(*mine)) || pace(); },
                       {"its tasks", 0});
            continue;
        }
        int circle = any_target;
        std::uint32_t looks = 0;
        const Announced announced(*this, {});
        wait_until(
            [&] {
                if (drained(*mine) || can_help(mine)) return true;
                if (++looks % 32 == 0 || waiter_.parked()) circle = in_a_circle(*mine);
                return circle != any_target || pace();
            },
            {"its tasks", 0});
        if (circle != any_target) throw_would_deadlock(circle);
    }
    if (mine == &base_) {
        deque_idle_ = true;
        unnoticed_ = false;
        if (stream_ != nullptr) stream_ = nullptr;  // always null where several threads share an initiator
    }
    // Everything is free again, so start over with the smallest part, which the nearest cache holds.
    const auto smallest = std::find_if(mine->rings.begin(), mine->rings.end(), [](const Ring* part) { return !part->urgent; });
    if (smallest != mine->rings.end()) mine->current = *smallest;
    if (mine == &base_)
        for (int t = 0; t < target_count_; ++t) lanes_[static_cast<std::size_t>(t)].overflow = nullptr;
    std::vector<Failure> failures;
    collect_failures(*mine, failures);
    if (!failures.empty()) Core::throw_first(std::move(failures));
    if (notices_ != nullptr && mine == &base_) notices_->throw_failures();
}

void Initiator::wait_for(const Handle& handle, Ring& ring, bool helping) {
    const bool own = &ring.owner() == this && !shared_;
    if (own && ring.kind() == Ring::Kind::lane && back_soon(lanes_[static_cast<std::size_t>(ring.only_target())], handle.ticket())) {
        if (!ring.may_have_failed(handle.ticket().number)) [[likely]] return;
        return throw_failure_of(handle, ring);
    }
    if (!complete(handle, ring)) {
        Scope* const mine = scope_;
        helping = (helping && own) || in_task();
        if (ring.kind() == Ring::Kind::dependent && runner_->dependents_running() != nullptr) check_for_own_successor(handle, nullptr);
        const bool named = ring.only_target() >= 0 && target_ != any_target;
        std::uint32_t looks = 0;
        const auto poll = [&] {
            if (complete(handle, ring) || callbacks_due()) return true;
            if (named && ++looks % 32 == 0 && core_.closes_a_circle(target_)) return true;
            return helping && can_help(mine);
        };
        const Waiting inside(waiting_);
        Vigil vigil(core_);
        while (!complete(handle, ring)) {
            if (callbacks_due()) {
                run_callbacks();
                continue;
            }
            if (helping && help(mine, 1)) continue;
            const Announced announced(*this, named ? handle : Handle{});
            if (named) check_for_circle(ring.only_target());
            if (own) wait_until(poll, {Core::waits_for_target, static_cast<std::uint64_t>(ring.only_target() + 1)});
            else {
                const WaitReason reason{Core::waits_for_target, static_cast<std::uint64_t>(ring.only_target() + 1)};
                if (!waiter_.wait_for(poll, std::chrono::microseconds(200), reason)) vigil.look(reason);
            }
        }
    }
    if (callbacks_due()) run_callbacks();
    if (own && !deque_idle_ && scope_ == &base_ && ring.kind() == Ring::Kind::pending)
        deque_idle_ = std::all_of(base_.rings.begin(), base_.rings.end(), [](Ring* part) {
            if (part->isolated()) part->forward_through(part->pending().appended());
            return part->pending().drained();
        });
    if (deque_idle_ && stream_ != nullptr) stream_ = nullptr;
    throw_failure_of(handle, ring);
}

/// A lone task is back before anything else could be done, so the first looks are at its line alone.
bool Initiator::back_soon(LaneEnd& lane, Ticket ticket) noexcept {
    constexpr int looks = 256;
    if (lane.producer.known_empty()) return true;
    for (int look = 0; look < looks; ++look) {
        if (!lane.producer.complete(ticket)) continue;
        if (lane.producer.known_empty()) ++lanes_idle_;
        return true;
    }
    return false;
}

void Initiator::wait_while_helping(const std::function<bool()>& ready) {
    Scope* const mine = scope_;
    const Waiting inside(waiting_);
    const WaitReason reason{"one of several tasks", 0};
    for (Vigil vigil(core_); !ready(); vigil.look(reason)) {
        if (callbacks_due()) run_callbacks();
        else if (!help(mine, 1))
            waiter_.wait_for([&] { return ready() || callbacks_due() || can_help(mine); }, std::chrono::microseconds(200), reason);
    }
}

void Initiator::throw_failure_of(const Handle& handle, Ring& ring) {
    if (!ring.may_have_failed(handle.ticket().number)) [[likely]] return;
    const auto failure = ring.failure_of(handle.ticket().number, handle.generation_);
    if (!failure) return;
    if (failure->cancelled) std::rethrow_exception(failure->cause);
    throw TaskFailed(failure->task, failure->target, failure->cause);
}

/// Has no task failed (and none been cancelled) in any ring that this scope used?
bool Initiator::clean(const Scope& scope) const noexcept {
    const auto good = [](const Ring* ring) { return ring->clean() && !ring->cancels(); };
    for (int t = 0; t < target_count_; ++t)
        if (scope.last[static_cast<std::size_t>(t)] != 0 && !good(lanes_[static_cast<std::size_t>(t)].ring)) return false;
    return std::all_of(scope.rings.begin(), scope.rings.end(), good) && std::all_of(scope.named.begin(), scope.named.end(), good) &&
           std::all_of(scope.dependents.begin(), scope.dependents.end(), good) &&
           good(immediate_);
}

/// Adds the failures of the scope's own tasks: lanes and the immediate ring also hold those of the scopes around it.
void Initiator::collect_failures(Scope& scope, std::vector<Failure>& failures) {
    if (!clean(scope)) core_.judge_watched();
    const auto take = [&](Ring& ring, std::uint64_t after, std::uint64_t until) {
        if (ring.cancels()) ring.forget_cancellations(after, until);
        if (ring.clean()) return;
        for (auto& failure : ring.take_failures(after, until)) failures.push_back(std::move(failure));
    };
    for (std::size_t t = 0; t < scope.last.size(); ++t)
        if (scope.last[t] != 0) take(*lanes_[t].ring, scope.before[t], Handle::number_of(scope.last[t]));
    for (Ring* ring : scope.rings) take(*ring, 0, Ring::no_limit);
    for (Ring* ring : scope.named) take(*ring, 0, Ring::no_limit);
    collect_dependent_failures(scope.dependents, failures);
    take(*immediate_, scope.immediate_before, scope.immediate_until);
}

}  // namespace penstock
