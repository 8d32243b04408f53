// How a task that waits runs what it waits for, when nobody has begun that: so that no wait depends on who has claimed
// what, and none hangs because its task lies behind the one that waits. It runs nothing else there (but the task's
// children): what runs inside a wait for something else could wait for the task that waits.
#include <unordered_set>

#include "penstock/detail/task/initiator.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"
#include "task/waiting/circles.hpp"

namespace penstock {
namespace {

Handle name_of(DependentNode& node) {
    Ring& ring = *node.ring();
    const TaskRecord& record = ring.slots()[&node - ring.nodes()];
    return Handle(ring.name(), {record.sequence.load(std::memory_order_acquire) >> 1, 0, false});
}

/// What comes after what, followed to what is awaited. Each task is gone through once, however often it is asked: once
/// one leads to what is awaited, nothing more may be asked.
class Leads {
  public:
    Leads(const AwaitedTasks& awaited, const Watched::Picture& watched) : awaited_(awaited), watched_(watched) {}

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
            if (awaited_.include(*next.ring(), name.number())) return true;
            reach_successors(name, &next);
        }
        return false;
    }

    const AwaitedTasks& awaited_;
    const Watched::Picture& watched_;
    std::unordered_set<DependentNode*> seen_;
    std::vector<DependentNode*> left_;
};

/// Where this task lies, when nobody has begun it and it may run here; else null.
Ring* claimable_ring(const Initiator& who, const Handle& handle) noexcept {
    Ring* const ring = handle.ring();
    if (ring == nullptr || ring->kind() != Ring::Kind::pending || ring->machine() != who.machine_id()) return nullptr;
    return ring->may_run_on(who.target()) && ring->pending().claimable(handle.number()) ? ring : nullptr;
}

/// Runs a plain task that waits in some deque, if it may run here.
bool run_exactly(Initiator& who, const Handle& handle) {
    Ring* const ring = claimable_ring(who, handle);
    if (ring == nullptr) return false;
    const auto claim = ring->pending().claim_exactly(handle.number());
    if (claim.count == 0) return false;
    try {
        who.require_room_to_nest();
    } catch (...) {
        ring->pending().give_back(claim.first, claim.first + 1);
        who.core().tell_of_returned(*ring, 1);
        throw;
    }
    who.runner().run_claimed(*ring, claim, who.counters().helped);
    return true;
}

}  // namespace

bool AwaitedTasks::include(Ring& ring, std::uint64_t number) const {
    const auto holds = [&](const std::vector<Ring*>& rings) {
        return std::find(rings.begin(), rings.end(), &ring) != rings.end();
    };
    const Handle handle(ring.name(), {number, 0, false});
    for (const Handle& one : handles)
        if (one.same_task(handle)) return true;
    if (dependents != nullptr && holds(*dependents)) return true;
    if (scope == nullptr) return false;
    if (ring.kind() != Ring::Kind::lane) return holds(scope->rings) || holds(scope->dependents);
    const auto t = static_cast<std::size_t>(ring.only_target());
    return who.lanes()[ring.only_target()].ring == &ring && scope->last[t] != 0 && number > scope->before[t] &&
           number <= Handle::number_of(scope->last[t]);
}

bool AwaitedTasks::may_depend() const noexcept {
    const auto dependent = [](const Handle& handle) {
        const Ring* const ring = handle.ring();
        return ring != nullptr && ring->kind() == Ring::Kind::dependent;
    };
    return dependents != nullptr || (scope != nullptr && !scope->dependents.empty()) ||
           std::any_of(handles.begin(), handles.end(), dependent);
}

bool AwaitedTasks::come_after(const Handle& task, DependentNode* node, const WatchedPicture& watched) const {
    return Leads(*this, watched).behind(task, node);
}

bool AwaitedTasks::can_run() const noexcept {
    return who.helps() && std::any_of(handles.begin(), handles.end(),
                                      [this](const Handle& handle) { return claimable_ring(who, handle) != nullptr; });
}

bool AwaitedTasks::run() const {
    if (!who.in_task() || !who.helps()) return false;
    Runner& runner = who.runner();
    runner.give_back_all();
    for (const Handle& handle : handles)
        if (run_exactly(who, handle)) return true;
    if (!may_depend()) return false;
    Core& core = who.core();
    runner.look_at_watched(std::numeric_limits<std::size_t>::max());
    const auto picture = core.watched().picture();
    Leads leads(*this, picture);
    if (DependentNode* const node = runner.take_ready([&](DependentNode& ready) { return leads.to(ready); })) {
        if (runner.depth() >= core.options().nesting_limit) {
            runner.hand_on(*node);
            who.require_room_to_nest();
        }
        who.counters().helped.add(runner.run_dependent(*node, 1));
        return true;
    }
    // What waits for a plain task, and all behind that, stays as it is as long as the list does.
    const Handle handle =
        core.watched().look_at_all([&](const Watched::Picture& now, const std::vector<Watched::One>& all) {
            Leads from_plain(*this, now);
            for (const auto& one : all)
                if (claimable_ring(who, one.handle) != nullptr && from_plain.to(*one.node)) return one.handle;
            return Handle{};
        });
    return !handle.none() && run_exactly(who, handle);
}

}  // namespace penstock
