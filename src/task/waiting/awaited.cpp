// How a task that waits runs what it waits for, when nobody has begun that: so that no wait depends on who has claimed
// what, and none hangs because its task lies behind the one that waits. It runs nothing else there (but the task's
// children): what runs inside a wait for something else could wait for the task that waits.
#include <algorithm>
#include <limits>
#include <unordered_set>
#include <vector>

#include "penstock/detail/task/initiator.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"

namespace penstock {
namespace {

Handle name_of(DependentNode& node) {
    Ring& ring = *node.ring();
    const TaskRecord& record = ring.slots()[&node - ring.nodes()];
    return Handle(ring.name(), {record.sequence.load(std::memory_order_acquire) >> 1, 0, false});
}

}  // namespace

/// Is this task one of those that are waited for?
bool Initiator::includes(const AwaitedTasks& awaited, Ring& ring, std::uint64_t number) const {
    const auto holds = [&](const std::vector<Ring*>& rings) {
        return std::find(rings.begin(), rings.end(), &ring) != rings.end();
    };
    const Handle handle(ring.name(), {number, 0, false});
    for (const Handle& one : awaited.handles)
        if (one.same_task(handle)) return true;
    if (awaited.dependents != nullptr && holds(*awaited.dependents)) return true;
    const Scope* const scope = awaited.scope;
    if (scope == nullptr) return false;
    if (ring.kind() != Ring::Kind::lane) return holds(scope->rings) || holds(scope->named) || holds(scope->dependents);
    const auto t = static_cast<std::size_t>(ring.only_target());
    return lanes_[t].ring == &ring && scope->last[t] != 0 && number > scope->before[t] &&
           number <= Handle::number_of(scope->last[t]);
}

bool Initiator::awaits_dependents(const AwaitedTasks& awaited) const noexcept {
    const auto dependent = [](const Handle& handle) {
        const Ring* const ring = handle.ring();
        return ring != nullptr && ring->kind() == Ring::Kind::dependent;
    };
    return awaited.dependents != nullptr || (awaited.scope != nullptr && !awaited.scope->dependents.empty()) ||
           std::any_of(awaited.handles.begin(), awaited.handles.end(), dependent);
}

/// What comes after what, followed to what is awaited. Each task is gone through once, however often it is asked: once
/// one leads to what is awaited, nothing more may be asked.
class Initiator::Leads {
  public:
    Leads(const Initiator& who, const AwaitedTasks& awaited, const Watched::Picture& watched)
        : who_(who), awaited_(awaited), watched_(watched) {}

    /// Is it awaited, or does something that is come after it?
    bool to(DependentNode& node) {
        reach(node);
        return follow();
    }
    /// Does something that is awaited come after this task? `node`: null for a plain one.
    bool behind(const Handle& task, DependentNode* node) {
        reach_successors(task, node);
        return follow();
    }

  private:
    void reach(DependentNode& node) {
        if (seen_.insert(&node).second) left_.push_back(&node);
    }
    void reach_successors(const Handle& name, DependentNode* from) {
        const auto one = [this](DependentNode& next) { reach(next); };
        if (from != nullptr) DependentNode::each_successor(from->look(), one);
        watched_.each_successor(name, one);
    }
    bool follow() {
        while (!left_.empty()) {
            DependentNode& next = *left_.back();
            left_.pop_back();
            const Handle name = name_of(next);
            if (who_.includes(awaited_, *next.ring(), Handle::number_of(name.word_))) return true;
            reach_successors(name, &next);
        }
        return false;
    }

    const Initiator& who_;
    const AwaitedTasks& awaited_;
    const Watched::Picture& watched_;
    std::unordered_set<DependentNode*> seen_;
    std::vector<DependentNode*> left_;
};

/// Does something that is awaited come after this task? The task must not be able to complete meanwhile: then what
/// comes after it cannot start, the lists stay as they are but for what is added, and can be followed. `node`: null for
/// a plain task.
bool Initiator::leads_to(const Handle& task, DependentNode* node, const AwaitedTasks& awaited,
                         const WatchedPicture& watched) const {
    return Leads(*this, awaited, watched).behind(task, node);
}

/// Runs a plain task that waits in some deque, if it may run here.
bool Initiator::run_exactly(const Handle& handle) {
    Ring* const ring = claimable_ring(handle);
    if (ring == nullptr) return false;
    const auto claim = ring->pending().claim_exactly(handle.ticket().number);
    if (claim.count == 0) return false;
    try {
        require_room_to_nest();
    } catch (...) {
        ring->pending().give_back(claim.first, claim.first + 1);
        core_.tell_of_returned(*ring, 1);
        throw;
    }
    counters_.helped.add();
    runner_->run_claimed(*ring, claim);
    return true;
}

/// Where this task lies, when nobody has begun it and it may run here; else null.
Ring* Initiator::claimable_ring(const Handle& handle) const noexcept {
    Ring* const ring = handle.ring();
    if (ring == nullptr || ring->kind() != Ring::Kind::pending || ring->machine() != machine_id_) return nullptr;
    if (ring->only_target() >= 0 && ring->only_target() != target_) return nullptr;
    return ring->pending().claimable(handle.ticket().number) ? ring : nullptr;
}

bool Initiator::can_run(const AwaitedTasks& awaited) const noexcept {
    return std::any_of(awaited.handles.begin(), awaited.handles.end(),
                       [this](const Handle& handle) { return claimable_ring(handle) != nullptr; });
}

/// For a task whose wait finds nothing else to do. What its thread has claimed and not begun is for everybody from here
/// on. True when it ran something. Throws NestingTooDeep.
bool Initiator::run_awaited(const AwaitedTasks& awaited) {
    if (!in_task()) return false;
    runner_->give_back_all();
    for (const Handle& handle : awaited.handles)
        if (run_exactly(handle)) return true;
    if (!awaits_dependents(awaited)) return false;
    runner_->look_at_watched(std::numeric_limits<std::size_t>::max());
    const auto picture = core_.watched().picture();
    Leads leads(*this, awaited, picture);
    if (DependentNode* const node = runner_->take_ready([&](DependentNode& ready) { return leads.to(ready); })) {
        if (runner_->depth() >= core_.options().nesting_limit) {
            runner_->hand_on(*node);
            require_room_to_nest();
        }
        counters_.helped.add(runner_->run_dependent(*node, 1));
        return true;
    }
    // What waits for a plain task, and all behind that, stays as it is as long as the list does.
    const Handle handle =
        core_.watched().look_at_all([&](const Watched::Picture& now, const std::vector<Watched::One>& all) {
            Leads from_plain(*this, awaited, now);
            for (const auto& one : all)
                if (claimable_ring(one.handle) != nullptr && from_plain.to(*one.node)) return one.handle;
            return Handle{};
        });
    return !handle.none() && run_exactly(handle);
}

/// For polls of those who could run more. Always false.
bool Initiator::look_for_held_up(std::uint32_t looks) const noexcept {
    if (looks % 256 == 0 || waiter_.parked()) core_.give_back_what_is_held_up(*this);
    return false;
}

}  // namespace penstock
