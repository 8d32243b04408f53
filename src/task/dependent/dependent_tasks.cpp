// How dependent tasks are issued: where they are written, what they come after, and who gets them when they are ready.
#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "penstock/detail/task/initiator.hpp"
#include "penstock/error.hpp"
#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"
#include "task/waiting/verdict.hpp"

namespace penstock {
namespace {

constexpr std::uint32_t first_ring_of_thread = 256;
constexpr std::uint32_t first_ring_of_task = 64;
constexpr std::uint32_t growth = 4;
constexpr std::uint32_t largest_ring = 1u << 16;
constexpr std::uint32_t lines_ahead = 4;

}  // namespace

Initiator::DependentSpot Initiator::begin_dependent(DependentGroup* given, int target) {
    Scope& mine = scope();
    if (target_count_ == 0 && runner_->depth() >= core_.options().nesting_limit)
        throw NestingTooDeep("calls inside tasks are nested " + std::to_string(runner_->depth()) +
                             " deep; make fewer levels, or raise MachineOptions::nesting_limit");
    DependentGroup& group = given != nullptr ? *given : mine.after;
    Ring* ring = group.current;
    TaskRecord* record = ring != nullptr ? ring->pending().reserve() : nullptr;
    if (record == nullptr) [[unlikely]] {
        ring = &dependent_ring_with_room(group);
        record = ring->pending().reserve();
    }
    const auto slot = static_cast<std::uint32_t>(record - ring->slots());
    DependentNode& node = ring->nodes()[slot];
    // Lines that a completing thread wrote last come back slowly, and the next read-modify-write would wait for them.
    const DependentNode& ahead = ring->nodes()[(slot + lines_ahead) & (ring->capacity() - 1)];
    prefetch_write(&ahead);
    if (node.edges() > DependentNode::first_line_edges) prefetch_write(ahead.second_line());
    for (FarEdges<>* room = node.room(); room != nullptr; room = room->more) [[unlikely]]
        free_rooms_.push_back(room);
    node.begin(ring, target);
    // until it has its number, who comes along its edges must not find the last task's
    record->sequence.store(0, std::memory_order_relaxed);
    const auto number = ring->pending().appended() + 1;
    ring->note(number) = {number, 0, false};
    DependentSpot spot;
    spot.record = record;
    spot.ring = ring;
    spot.node = &node;
    spot.number = number;
    spot.serial = ++dependent_serial_;
    return spot;
}

Handle Initiator::commit_dependent(DependentSpot& spot) {
    unnoticed_ = true;  // it posts nothing into the mailbox
    counters_.calls.add();
    const Handle handle(spot.ring->name(), {spot.ring->pending().append(), 0, false});
    if (spot.node->commit()) hand_on(*spot.node);
    return handle;
}

void Initiator::abandon_dependent(DependentSpot& spot) noexcept {
    try {
        Verdict::give(*spot.node, {"(a call that threw)", std::current_exception(), false});
    } catch (const std::bad_alloc&) {
        Verdict::give_without_memory(*spot.node);
    }
    try {
        push_edges(spot);
    } catch (...) {  // it has as many as it may have
    }
    commit_dependent(spot);
}

// ---- what a task comes after ----

void Initiator::push_edges(DependentSpot& spot) {
    const auto edges = std::exchange(spot.edges_left, 0);
    for (std::uint32_t i = 0; i < edges; ++i) {
        Ring& ring = *spot.edge_ring[i];
        const auto number = spot.edge_number[i];
        if (spot.node->needs_room()) [[unlikely]]
            make_room(*spot.node);
        if (spot.node->come_after(ring.nodes()[ring.pending().slot(number)])) continue;
        ring.note(number).complete = true;
        if (ring.may_have_failed(number)) [[unlikely]]
            look_for_failure(spot, ring, number);
    }
}

void Initiator::make_room(DependentNode& node) {
    if (node.edges() + FarEdges<>::size > DependentNode::most_edges)
        throw UsageError(
            "a task can come after " + std::to_string(DependentNode::most_edges - FarEdges<>::size) +
            " others at most; let some of them be followed by a task of their own, and come after that one");
    if (free_rooms_.empty()) {
        rooms_.push_back(std::make_unique<FarEdges<>>());
        free_rooms_.push_back(rooms_.back().get());
    }
    node.give_room(*free_rooms_.back());
    free_rooms_.pop_back();
}

void Initiator::look_for_failure(DependentSpot& spot, Ring& ring, std::uint64_t number) {
    if (ring.kind() == Ring::Kind::dependent && &ring.owner() == this && number <= ring.settled) return;
    if (const auto verdict = Verdict::on(ring, number)) Verdict::give(*spot.node, *verdict);
}

void Initiator::come_after_all(DependentSpot& spot, std::span<const Handle> predecessors) {
    for (const Handle& handle : predecessors) come_after(spot, handle);
}

void Initiator::come_after(DependentSpot& spot, const Handle& handle) {
    if (handle.none()) return;
    Ring* const ring = handle.ring();
    if (ring == nullptr) return;  // its machine is gone, and finished all its tasks before that
    const auto number = handle.ticket().number;
    if (ring->kind() == Ring::Kind::dependent && &ring->owner() == this) return come_after(spot, *ring, number);
    if (!complete(handle, *ring)) {
        if (target_count_ != 0) {
            if (spot.node->needs_room()) [[unlikely]]
                make_room(*spot.node);
            core_.watched().add(handle, *spot.node);  // may throw: then nothing is to be expected
            spot.node->expect_one();
            core_.wake_a_target();
            return;
        }
        // Here every task runs inside its call, so that is where it waits.
        Waiter(core_.wait_policy())
            .wait([&] { return handle.complete(*ring) || handle.ring() == nullptr; }, {"a task of another thread", 0});
    }
    look_for_failure(spot, *ring, number);
}

// ---- where it is kept ----

Ring& Initiator::dependent_ring_with_room(DependentGroup& group) {
    const auto find = [&]() -> Ring* {
        for (Ring* ring : group.rings)
            if (ring->pending().reserve() != nullptr) return group.current = ring;
        return nullptr;
    };
    if (Ring* const ring = find()) return *ring;
    const auto limit = core_.options().pending_limit;
    std::size_t capacity = 0;
    for (const Ring* ring : group.rings) capacity += ring->capacity();
    if (limit != 0 && capacity >= limit && !in_task()) {
        if (core_.options().when_full == WhenFull::refuse) {
            counters_.refused.add();
            throw QueueFull("this thread has " + std::to_string(limit) +
                            " dependent tasks outstanding; wait for some, or raise MachineOptions::pending_limit");
        }
        counters_.stalls.add();
        wait_while_helping([&] { return find() != nullptr; }, {});
        return *group.current;
    }
    return add_dependent_ring(group);
}

Ring& Initiator::add_dependent_ring(DependentGroup& group) {
    core_.backend().require(Backend::Ability::dependences);
    Scope& mine = scope();
    std::erase_if(mine.dependents, [this](Ring* ring) {
        if (!ring->orphaned || !ring->pending().drained() ||
            (!ring->clean() && ring->settled != ring->pending().appended()))
            return false;
        ring->orphaned = false;
        free_dependents_.push_back(ring);
        return true;
    });
    std::uint32_t capacity = &mine == &base_ ? first_ring_of_thread : first_ring_of_task;
    for (const Ring* ring : group.rings)
        capacity = std::min(std::max(capacity, ring->capacity() * growth), largest_ring);
    const auto used = std::find_if(free_dependents_.begin(), free_dependents_.end(),
                                   [&](const Ring* ring) { return ring->capacity() >= capacity; });
    mine.dependents.reserve(mine.dependents.size() + 1);
    group.rings.reserve(group.rings.size() + 1);
    Ring* ring = nullptr;
    if (used != free_dependents_.end()) {
        ring = *used;
        free_dependents_.erase(used);
    } else {
        std::uint32_t place = 0;
        while (place < max_rings && rings_[place].load(std::memory_order_relaxed) != nullptr) ++place;
        if (place == max_rings)
            throw QueueFull("this thread has too many dependent tasks outstanding at once; wait for some of them");
        free_dependents_.reserve(place + 1);  // so that no end of a scope needs memory
        ring = &Ring::acquire(Ring::Kind::dependent, capacity, core_.claimants(), *this, waiter_.bell(), any_target);
        ring->place = place;
        rings_[place].store(ring, std::memory_order_release);
    }
    ring->set_scope(&mine);
    mine.dependents.push_back(ring);
    group.rings.push_back(ring);
    core_.mix();
    if (board_.dependents.load(std::memory_order_relaxed) == 0) board_.dependents.store(1, std::memory_order_relaxed);
    return *(group.current = ring);
}

/// The group is used no more. Others take over its rings once their tasks have completed.
void Initiator::give_back(DependentGroup& group) noexcept {
    for (Ring* ring : group.rings) ring->orphaned = true;
    group = {};
}

// ---- who runs it ----

void Initiator::hand_on(DependentNode& node) noexcept {
    if (target_count_ == 0) {
        runner_->run_dependent(node);
        return;
    }
    Ring& ring = *node.ring();  // the task may be over as soon as it has been pushed
    const int target = node.target();
    if (target >= 0) {
        Target& named = core_.target(target);
        named.runner().named().push(node);
        penstock::ring(named.waiter().bell());
        return;
    }
    try {
        runner_->ready().push(node);
    } catch (const std::bad_alloc&) {  // no room for it in the queue: at once
        runner_->run_dependent(node);
        return;
    }
    tell_of_ready(ring);
}

void Initiator::tell_of_ready(Ring& ring) noexcept {
    if (board_.idle_targets.load(std::memory_order_relaxed) != 0) [[unlikely]]
        core_.wake_a_target();
    penstock::ring(ring.owner_bell());
}

// ---- waiting for them ----

bool Initiator::dependents_drained(const std::vector<Ring*>& rings) const noexcept {
    return std::all_of(rings.begin(), rings.end(), [](Ring* ring) { return ring->pending().drained(); });
}

void Initiator::wait_for_dependents(const std::vector<Ring*>& rings) {
    require_here();
    std::unique_lock<std::recursive_mutex> sharing;
    if (shared_) sharing = std::unique_lock{sharing_};
    wait_while_helping([&] { return dependents_drained(rings); }, {.dependents = &rings});
    std::vector<Failure> failures;
    collect_dependent_failures(rings, failures);
    if (!failures.empty()) Core::throw_first(std::move(failures));
}

void Initiator::collect_dependent_failures(const std::vector<Ring*>& rings, std::vector<Failure>& failures) {
    for (Ring* ring : rings) {
        ring->settled = ring->pending().appended();
        if (ring->cancels()) ring->forget_cancellations();
        if (ring->clean()) continue;
        for (auto& failure : ring->take_failures()) failures.push_back(std::move(failure));
    }
}

}  // namespace penstock
