#include "task/waiting/circles.hpp"

#include <utility>

#include "penstock/detail/task/initiator.hpp"
#include "penstock/error.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"

namespace penstock {

Circles::Wait::Wait(const AwaitedTasks& awaited) : awaited_(awaited) {
    if (awaited.handles.size() > 1 || !awaited.who.in_task()) return;
    Circles& all = awaited.who.core().circles();
    std::unique_lock lock(all.mutex_);
    next_ = std::exchange(all.first_, this);
    for (Wait* wait = all.first_; wait != nullptr; wait = wait->next_) wait->seen_ = false;
    bool circle = false;
    try {
        all.watched_.reset();
        circle = all.leads_back(*this, *this);
    } catch (...) {
        all.remove(*this);
        throw;
    }
    listed_ = !circle;
    if (!circle) return;
    all.remove(*this);
    lock.unlock();
    throw WouldDeadlock(
        "this wait can never end: it is for a task that cannot go on before the one that waits (it comes after that "
        "one, is for "
        "its target alone, or waits for it in its turn); wait outside the task, or come after another one\n" +
        awaited.who.core().waiting_report());
}

Circles::Wait::~Wait() {
    if (!listed_) return;
    Circles& all = awaited_.who.core().circles();
    const std::lock_guard lock(all.mutex_);
    all.remove(*this);
}

void Circles::remove(Wait& wait) noexcept {
    Wait** place = &first_;
    while (*place != &wait) place = &(*place)->next_;
    *place = wait.next_;
}

bool Circles::leads_back(Wait& from, const Wait& to) {
    from.seen_ = true;
    for (Wait* next = first_; next != nullptr; next = next->next_) {
        if ((next->seen_ && next != &to) || !stands_behind(from, *next)) continue;
        if (next == &to || leads_back(*next, to)) return true;
    }
    return false;
}

const WatchedPicture& Circles::watched(const Initiator& who) {
    if (!watched_) watched_ = who.core().watched().picture();
    return *watched_;
}

/// Is what `wait` waits for, or a part of it, unfinished for as long as `other` lasts?
bool Circles::stands_behind(const Wait& wait, const Wait& other) {
    const AwaitedTasks& awaited = wait.awaited_;
    const Initiator& who = awaited.who;
    const Initiator& its = other.awaited_.who;
    for (const auto* task = its.runner().innermost(); task != nullptr; task = task->outer)
        if (task->ring != nullptr && awaited.include(*task->ring, task->number)) return true;
    // What only the other target may run, it does not run inside a task. Its own children, and what it waits for, it
    // does.
    const int target = its.target();
    const auto other_runs = [&](DependentNode& node, const Handle& name) {
        return other.awaited_.include(*node.ring(), name.number()) ||
               other.awaited_.come_after(name, &node, watched(who));
    };
    const auto never_there = [&](const Handle& handle, Ring& ring) {
        if (target < 0) return false;
        if (ring.kind() == Ring::Kind::dependent) {
            DependentNode& node = ring.nodes()[ring.pending().slot(handle.ticket().number)];
            return &wait != &other && node.target() == target && !handle.complete(ring) && !other_runs(node, handle);
        }
        return ring.only_target() == target && !(&wait == &other && ring.kind() == Ring::Kind::pending) &&
               !handle.complete(ring);
    };
    for (const Handle& handle : awaited.handles)
        if (Ring* const ring = handle.ring(); ring != nullptr && never_there(handle, *ring)) return true;
    if (awaited.scope != nullptr) {
        for (std::size_t t = 0; t < awaited.scope->last.size(); ++t) {
            if (awaited.scope->last[t] == 0) continue;
            Ring& lane = *who.lanes()[static_cast<int>(t)].ring;
            Handle last(lane.name(), {});
            last.word_ = awaited.scope->last[t];
            if (never_there(last, lane)) return true;
        }
        for (Ring* const ring : awaited.scope->rings)
            if (never_there({ring->name(), {ring->pending().appended(), 0, false}}, *ring)) return true;
    }
    if (!awaited.may_depend()) return false;
    for (const auto* task = its.runner().innermost(); task != nullptr; task = task->outer)
        if (task->ring != nullptr &&
            awaited.come_after({task->ring->name(), {task->number, 0, false}}, task->node, watched(who)))
            return true;
    return false;
}

}  // namespace penstock
