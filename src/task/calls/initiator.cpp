#include "penstock/detail/task/initiator.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "penstock/detail/machine/clock.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"
#include "task/waiting/notices.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t first_ring_of_thread = 256;  // 16 KiB of descriptors: what stays in the nearest cache
constexpr std::uint32_t first_ring_of_task = 64;
constexpr std::uint32_t growth = 4;
constexpr std::uint32_t largest_ring = 1u << 18;

}  // namespace

Initiator::Initiator(Core& core, int target, Waiter* waiter)
    : lanes_(core.options().targets), board_(core.board()), core_(core), target_(target),
      call_side_(core.backend().call_side()), helps_(core.backend().takes_help()),
      own_waiter_(waiter != nullptr ? nullptr : new Waiter(core.backend().waiter(any_target))),
      waiter_(waiter == nullptr ? *own_waiter_ : *waiter),
      runner_(std::make_unique<Runner>(*this, target, core.local_store_bytes(), core.options())),
      started_(Clock::ticks()), local_store_bytes_(core.local_store_bytes()), machine_id_(core.id()),
      deque_(*this, waiter_.bell(), board_, core.claimants(), core.backend().sees_rings()),
      dependents_(*this, core, deque_) {
    asked_ = core.standing_options();
    direct_ = core.options().distribution == Distribution::balanced && asked_ == nullptr && core.backend().direct();
    base_.last.assign(static_cast<std::size_t>(lanes_.count()), 0);
    base_.before.assign(static_cast<std::size_t>(lanes_.count()), 0);
    scope_ = &base_;
    immediate_ = &Ring::acquire(Ring::Kind::immediate, 0, 0, *this, waiter_.bell(), any_target);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // one class, no virtual bases: the compilers define it
    static_assert(offsetof(Initiator, lanes_) == 0 && offsetof(Initiator, counters_) == 128 &&
                      offsetof(Initiator, stream_) + sizeof stream_ <= 64 && offsetof(Initiator, base_) == 256,
                  "what each call reads is one line, what it counts the next two");
#pragma GCC diagnostic pop
}

Initiator::~Initiator() {
    for (const LaneEnd& lane : lanes_)
        if (lane.ring != nullptr) lane.ring->release();
    immediate_->release();
}

bool Initiator::in_task() const noexcept {
    if (!shared_) return runner_->depth() != 0;
    // Who runs a task of a shared initiator holds its lock.
    const std::unique_lock held(sharing_, std::try_to_lock);
    return held.owns_lock() && runner_->depth() != 0;
}

// ---- where a task goes ----

Initiator::Spot Initiator::reserve(int target) {
    scope();
    if (lanes_.count() == 0) return {};
    if (asked_ != nullptr && asked_->priority == Priority::high) return reserve_in_deque(target, true);
    if (target != any_target) return target == target_ ? reserve_in_deque(target) : reserve_in_lane(target);
    if (core_.options().distribution == Distribution::balanced || target_ != any_target)
        return reserve_in_deque(any_target);
    if (core_.options().distribution == Distribution::round_robin) return reserve_in_lane(lanes_.in_turn());
    return reserve_in_lane(lanes_.least_loaded());
}

namespace {

constexpr std::uint32_t lines_ahead = 4;

/// In a stream the line of a record that is to come is fetched from the target, which read it a round ago, several at
/// once (docs/performance/2-vcpu-epyc.md, tasks to named targets, has what it gains).
void fetch_ahead(const Ring& ring, const Producer<TaskPayload>& producer, const TaskRecord* record) noexcept {
    if (producer.known_empty() || producer.outstanding() + lines_ahead >= ring.capacity()) return;
    const auto ahead = (static_cast<std::uint32_t>(record - ring.slots()) + lines_ahead) & (ring.capacity() - 1);
    prefetch_write(&ring.slots()[ahead]);
}

}  // namespace

Initiator::Spot Initiator::reserve_in_lane(int target) {
    LaneEnd& lane = lanes_[target];
    if (lane.ring == nullptr) make_lane(target);
    const auto when_full = in_task() ? WhenFull::defer : core_.options().when_full;
    // Looking for credit moves a line that the target writes with each task, so a lane that was full is left alone for
    // a while, and until the target has taken what went past it, which was issued before.
    if (lane.calls_past != 0 && (--lane.calls_past != 0 || waits_in_deque(target))) {
        if (lane.calls_past == 0) lane.calls_past = core_.options().depth;
        return reserve_in_deque(target);
    }
    TaskRecord* record = lanes_.reserve(lane);
    if (record != nullptr) {
        fetch_ahead(*lane.ring, lane.producer, record);
        return {record, &lane, lane.ring};
    }
    if (when_full == WhenFull::defer) lane.calls_past = core_.options().depth;
    if (when_full == WhenFull::refuse) {
        counters_.refused.add();
        throw QueueFull("the lane to target " + std::to_string(target) + " holds " +
                        std::to_string(core_.options().depth) +
                        " tasks; wait for some, raise MachineOptions::depth, or choose WhenFull::defer");
    }
    if (when_full == WhenFull::defer) return reserve_in_deque(target);
    wait_for_room([&] { return (record = lanes_.reserve(lane)) != nullptr; },
                  {"room in a lane", static_cast<std::uint64_t>(target) + 1});
    return {record, &lane, lane.ring};
}

bool Initiator::waits_in_deque(int only_target) {
    return std::ranges::any_of(scope().rings, [&](const Ring* ring) {
        return ring->only_target() == only_target && !ring->urgent && ring->waiting() != 0;
    });
}

Ring* Initiator::ring_with_room(Scope& scope, int only_target, bool urgent) noexcept {
    for (Ring* ring : scope.rings) {
        if (ring->only_target() != only_target || ring->urgent != urgent) continue;
        ring->bring_back();
        if (ring->pending().reserve() != nullptr) return ring;
    }
    return nullptr;
}

bool Initiator::may_grow(const Scope& scope, int only_target, bool urgent) const noexcept {
    const auto limit = core_.options().pending_limit;
    if (limit == 0) return true;
    std::size_t capacity = 0;
    for (const Ring* ring : scope.rings)
        if (ring->only_target() == only_target && ring->urgent == urgent) capacity += ring->capacity();
    return capacity < limit;
}

Initiator::Spot Initiator::reserve_in_deque(int only_target, bool urgent) {
    Scope& mine = scope();
    // The part that took the last such task most likely takes this one; asking the others first would touch lines of
    // full ones.
    Ring*& overflow = only_target == any_target ? mine.current : lanes_[only_target].overflow;
    if (overflow != nullptr && !urgent && &mine == &base_)
        if (TaskRecord* const record = overflow->pending().reserve()) return {record, nullptr, overflow};
    Ring* ring = ring_with_room(mine, only_target, urgent);
    // A task never waits for room (contract 3): it runs its child at once. What only another target may run cannot run
    // here, so that part of the deque grows without limit.
    const bool unlimited = in_task() && only_target != any_target;
    if (ring == nullptr && (unlimited || may_grow(mine, only_target, urgent)))
        ring = add_ring(mine, only_target, urgent);
    if (ring == nullptr) {
        if (in_task() && only_target == any_target) return {};
        if (unlimited || core_.options().when_full == WhenFull::refuse) {
            counters_.refused.add();
            throw QueueFull("this thread has " + std::to_string(core_.options().pending_limit) +
                            " tasks waiting; wait for some, or raise MachineOptions::pending_limit");
        }
        wait_for_room([&] { return (ring = ring_with_room(mine, only_target, urgent)) != nullptr; },
                      {"room in the deque", 0});
    }
    if (!urgent && (only_target == any_target || &mine == &base_)) overflow = ring;
    return {ring->pending().reserve(), nullptr, ring};
}

void Initiator::make_lane(int target) {
    LaneEnd& lane = lanes_[target];
    const auto& options = core_.options();
    // One slot more than the depth, rounded up: with depth 1 the lane still alternates between its slots when it must.
    const auto capacity = std::bit_ceil(std::max<std::uint32_t>(options.depth, 2));
    Ring& ring = Ring::acquire(Ring::Kind::lane, capacity, 0, *this, waiter_.bell(), target,
                               core_.backend().sees_rings(), options.initiation);
    Target& receiver = core_.target(target);
    {
        const std::lock_guard lock(core_.mutex());
        receiver.add_lane(ring, options.initiation);
    }
    lane.producer = Producer<TaskPayload>(ring.parts(options.initiation), options.depth, options.completion);
    lane.ring = &ring;
    lane.bell = &receiver.waiter().bell();
}

void Initiator::wake_a_target(const Ring& ring) noexcept { core_.wake_a_target(ring); }

void Initiator::require_room_to_nest() const {
    if (runner_->depth() >= core_.options().nesting_limit)
        throw NestingTooDeep("calls inside tasks are nested " + std::to_string(runner_->depth()) +
                             " deep; make fewer levels, or raise MachineOptions::nesting_limit");
}

Handle Initiator::run_at_once(TaskPayload& payload, Extension& extension) {
    counters_.calls.add();
    counters_.inlined.add();
    sample_spoilt_ = true;
    const auto notice = payload.flags >> TaskPayload::notice_shift;
    const auto number = ++immediate_runs_;
    const Handle handle{immediate_->index(), immediate_->generation(), {number, 0, false}};
    if (notice != 0) note_issued(notice, handle);
    runner_->run(*immediate_, payload, &extension, number);
    if (notice != 0) runner_->notify(*immediate_, notice);
    return handle;
}

// ---- scopes ----

void Initiator::leave_behind() noexcept {
    stream_ = nullptr;
    direct_ = false;
    shared_ = false;  // whoever held the lock is not here
    left_behind_ = true;
}

void Initiator::require_here() const {
    if (left_behind_)
        throw MachineGone("this machine stayed behind in the parent of a fork; make a new one in the child");
}

Scope& Initiator::scope() {
    require_here();
    if (scope_ != nullptr) return *scope_;
    if (runner_->depth() >= core_.options().nesting_limit)
        throw NestingTooDeep("tasks wait inside tasks " + std::to_string(runner_->depth()) +
                             " deep; make fewer levels, or raise MachineOptions::nesting_limit");
    core_.mix();
    reap_orphans();
    Scope& fresh = scopes_.take(base_.last.size());
    for (std::size_t t = 0; t < fresh.before.size(); ++t)
        fresh.before[t] = lanes_[static_cast<int>(t)].producer.issued();
    fresh.immediate_before = immediate_runs_;
    return *(scope_ = &fresh);
}

void Initiator::end_scope() noexcept {
    scope_->immediate_until = immediate_runs_;
    if (drained(*scope_)) recycle(*scope_);
    else scopes_.orphan(*scope_);
    scope_ = nullptr;
}

void Initiator::reap_orphans() noexcept {
    scopes_.reap([this](Scope& scope) {
        const bool ended = drained(scope);
        if (ended) recycle(scope);
        return ended;
    });
}

void Initiator::recycle(Scope& scope) noexcept {
    if (!clean(scope)) try {
            core_.keep_unclaimed([&](std::vector<Failure>& unclaimed) { collect_failures(scope, unclaimed); });
        } catch (const std::bad_alloc&) {  // they stay in the rings, where finish() finds them
        }
    for (Ring* ring : scope.rings) deque_.close(*ring);
    scope.rings.clear();
    dependents_.give_back(scope);
    scope.current = nullptr;
    scope.immediate_until = Ring::no_limit;
    std::fill(scope.last.begin(), scope.last.end(), 0);
    scopes_.give_back(scope);
}

Scope& Scopes::take(std::size_t targets) {
    if (free_.empty()) {
        auto whole = std::make_unique<Scope>();
        whole->last.assign(targets, 0);
        whole->before.assign(targets, 0);
        free_.reserve(all_.size() + 1);
        orphans_.reserve(all_.size() + 1);
        all_.push_back(std::move(whole));
        return *all_.back();
    }
    Scope& scope = *free_.back();
    free_.pop_back();
    return scope;
}

Ring* Initiator::add_ring(Scope& scope, int only_target, bool urgent) {
    std::uint32_t capacity = &scope == &base_ ? first_ring_of_thread : first_ring_of_task;
    for (const Ring* ring : scope.rings)
        if (ring->only_target() == only_target && ring->urgent == urgent)
            capacity = std::min(std::max(capacity, ring->capacity() * growth), largest_ring);
    if (const auto limit = core_.options().pending_limit; limit != 0 && limit < capacity)
        capacity = std::bit_ceil(static_cast<std::uint32_t>(limit));
    scope.rings.reserve(scope.rings.size() + 1);
    Ring* const ring = deque_.open(capacity, only_target, urgent);
    if (ring != nullptr) scope.rings.push_back(ring);
    return ring;
}

/// All is done and told: nobody need look for tasks of high priority until there are some again.
void Initiator::close_urgent_rings(Scope& scope) noexcept {
    std::erase_if(scope.rings, [this](Ring* ring) {
        if (ring->urgent) deque_.close(*ring);
        return ring->urgent;
    });
}

// ---- samples ----

std::uint64_t Initiator::start_sample() noexcept {
    const bool recorded = timeline_.enabled();
    until_sample_.store(recorded ? 1 : trace::tasks_a_sample, std::memory_order_relaxed);
    if (shared_) return 0;
    sample_spoilt_ = false;
    const std::uint64_t begin = Clock::ticks();
    issued_ = recorded ? begin : 0;
    return begin;
}

void Initiator::end_sample(std::uint64_t begin) noexcept {
    issued_ = 0;
    if (sample_spoilt_) return;  // a stall, a task that ran inside the call: these are counted elsewhere
    counters_.sampled_calls.add();
    counters_.sampled_call_ticks.add(Clock::ticks() - begin);
}

}  // namespace penstock
