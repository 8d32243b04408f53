// How a task that waits runs what it waits for, when nobody has begun that: so that no wait depends on who has claimed what, and none
// hangs because its task lies behind the one that waits. It runs nothing else there (but the task's children): what runs inside a wait for
// something else could wait for the task that waits.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "penstock/initiator.hpp"
#include "task/core.hpp"
#include "task/runner.hpp"

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
    const auto holds = [&](const std::vector<Ring*>& rings) { return std::find(rings.begin(), rings.end(), &ring) != rings.end(); };
    const Handle handle(ring.name(), {number, 0, false});
    for (const Handle& one : awaited.handles)
        if (one.same_task(handle)) return true;
    if (awaited.dependents != nullptr && holds(*awaited.dependents)) return true;
    const Scope* const scope = awaited.scope;
    if (scope == nullptr) return false;
    if (ring.kind() != Ring::Kind::lane) return holds(scope->rings) || holds(scope->named) || holds(scope->dependents);
    const auto t = static_cast<std::size_t>(ring.only_target());
    return lanes_[t].ring == &ring && scope->last[t] != 0 && number > scope->before[t] && number <= Handle::number_of(scope->last[t]);
}

bool Initiator::awaits_dependents(const AwaitedTasks& awaited) const noexcept {
    const auto dependent = [](const Handle& handle) {
        const Ring* const ring = handle.ring();
        return ring != nullptr && ring->kind() == Ring::Kind::dependent;
    };
    return awaited.dependents != nullptr || (awaited.scope != nullptr && !awaited.scope->dependents.empty()) ||
           std::any_of(awaited.handles.begin(), awaited.handles.end(), dependent);
}

/// Does something that is waited for come after this task? The task must not be able to complete meanwhile: then what comes after it
/// cannot start, the lists stay as they are but for what is added, and can be followed. `node`: null for a plain task.
bool Initiator::leads_to(const Handle& task, DependentNode* node, const AwaitedTasks& awaited) const {
    std::unordered_set<DependentNode*> seen;
    std::vector<DependentNode*> left;
    const auto reach = [&](DependentNode& next) {
        if (seen.insert(&next).second) left.push_back(&next);
    };
    const auto reach_successors = [&](const Handle& name, DependentNode* from) {
        if (from != nullptr) DependentNode::each_successor(from->look(), reach);
        core_.watched().each_successor(name, reach);
    };
    reach_successors(task, node);
    while (!left.empty()) {
        DependentNode& next = *left.back();
        left.pop_back();
        const Handle name = name_of(next);
        if (includes(awaited, *next.ring(), Handle::number_of(name.word_))) return true;
        reach_successors(name, &next);
    }
    return false;
}

/// Runs a plain task that waits in some deque, if it may run here. `leading_to`: and if that comes after it.
bool Initiator::run_exactly(const Handle& handle, const AwaitedTasks* leading_to) {
    Ring* const ring = claimable_ring(handle);
    if (ring == nullptr) return false;
    const auto claim = ring->pending().claim_exactly(handle.ticket().number);
    if (claim.count == 0) return false;
    try {
        if (leading_to == nullptr || leads_to(handle, nullptr, *leading_to)) {
            require_room_to_nest();
            counters_.helped.add();
            runner_->run_claimed(*ring, claim);
            return true;
        }
    } catch (...) {
        ring->pending().give_back(claim.first, claim.first + 1);
        core_.tell_of_returned(*ring, 1);
        throw;
    }
    ring->pending().give_back(claim.first, claim.first + 1);
    core_.tell_of_returned(*ring, 1);
    return false;
}

/// Where this task lies, when nobody has begun it and it may run here; else null.
Ring* Initiator::claimable_ring(const Handle& handle) const noexcept {
    Ring* const ring = handle.ring();
    if (ring == nullptr || ring->kind() != Ring::Kind::pending || &ring->owner().core_ != &core_) return nullptr;
    if (ring->only_target() >= 0 && ring->only_target() != target_) return nullptr;
    return ring->pending().claimable(handle.ticket().number) ? ring : nullptr;
}

bool Initiator::can_run(const AwaitedTasks& awaited) const noexcept {
    return std::any_of(awaited.handles.begin(), awaited.handles.end(), [this](const Handle& handle) { return claimable_ring(handle) != nullptr; });
}

/// For a task whose wait finds nothing else to do. What its thread has claimed and not begun is for everybody from here on. True when it
/// ran something. Throws NestingTooDeep.
bool Initiator::run_awaited(const AwaitedTasks& awaited) {
    if (host_ != nullptr || !in_task()) return false;
    runner_->give_back_all();
    for (const Handle& handle : awaited.handles)
        if (run_exactly(handle)) return true;
    if (!awaits_dependents(awaited)) return false;
    runner_->look_at_watched();
    const auto wanted = [&](DependentNode& node) {
        const Handle name = name_of(node);
        return includes(awaited, *node.ring(), Handle::number_of(name.word_)) || leads_to(name, &node, awaited);
    };
    if (DependentNode* const node = runner_->take_ready(wanted)) {
        if (runner_->depth() >= core_.options().nesting_limit) {
            hand_on(*node);
            require_room_to_nest();
        }
        counters_.helped.add(runner_->run_dependent(*node, 1));
        return true;
    }
    for (std::size_t place = 0;; ++place) {
        const Handle handle = core_.watched().at(place);
        if (handle.none()) return false;
        if (run_exactly(handle, &awaited)) return true;
    }
}

/// For polls of those who could run more. Always false.
bool Initiator::look_for_held_up(std::uint32_t looks) const noexcept {
    if (looks % 256 == 0 || waiter_.parked()) core_.give_back_what_is_held_up(*this);
    return false;
}

}  // namespace penstock
