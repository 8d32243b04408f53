#include "penstock/detail/task/dependents.hpp"

#include <new>

#include "penstock/dependences.hpp"
#include "penstock/detail/task/initiator.hpp"
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

Dependents::Spot Dependents::begin(DependentGroup* given, int target) {
    Scope& mine = self_.scope();
    if (self_.target_count() == 0) self_.require_room_to_nest();
    DependentGroup& group = given != nullptr ? *given : mine.after;
    Ring* ring = group.current;
    TaskRecord* record = ring != nullptr ? ring->pending().reserve() : nullptr;
    if (record == nullptr) [[unlikely]] {
        ring = &ring_with_room(group);
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
    Spot spot;
    spot.record = record;
    spot.ring = ring;
    spot.node = &node;
    spot.number = number;
    spot.serial = ++serial_;
    return spot;
}

Handle Dependents::commit(Spot& spot) {
    self_.count_dependent_call();
    const Handle handle(spot.ring->name(), {spot.ring->pending().append(), 0, false});
    if (spot.node->commit()) self_.runner().hand_on(*spot.node);
    return handle;
}

void Dependents::abandon(Spot& spot) noexcept {
    try {
        Verdict::give(*spot.node, {"(a call that threw)", std::current_exception(), false});
    } catch (const std::bad_alloc&) {
        Verdict::give_without_memory(*spot.node);
    }
    try {
        push_edges(spot);
    } catch (...) {  // it has as many as it may have
    }
    commit(spot);
}

// ---- what a task comes after ----

void Dependents::push_edges(Spot& spot) {
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

void Dependents::make_room(DependentNode& node) {
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

void Dependents::look_for_failure(Spot& spot, Ring& ring, std::uint64_t number) {
    if (ring.kind() == Ring::Kind::dependent && &ring.owner() == &self_ && number <= ring.settled) return;
    if (const auto verdict = Verdict::on(ring, number)) Verdict::give(*spot.node, *verdict);
}

void Dependents::come_after(Spot& spot, const Handle& handle) {
    if (handle.none()) return;
    Ring* const ring = handle.ring();
    if (ring == nullptr) return;  // its machine is gone, and finished all its tasks before that
    const auto number = handle.ticket().number;
    if (ring->kind() == Ring::Kind::dependent && &ring->owner() == &self_) return come_after(spot, *ring, number);
    if (!self_.complete(handle, *ring)) {
        if (self_.target_count() != 0) {
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

Ring& Dependents::ring_with_room(DependentGroup& group) {
    const auto find = [&]() -> Ring* {
        for (Ring* ring : group.rings)
            if (ring->pending().reserve() != nullptr) return group.current = ring;
        return nullptr;
    };
    if (Ring* const ring = find()) return *ring;
    const auto limit = core_.options().pending_limit;
    std::size_t capacity = 0;
    for (const Ring* ring : group.rings) capacity += ring->capacity();
    if (limit != 0 && capacity >= limit && !self_.in_task()) {
        if (core_.options().when_full == WhenFull::refuse) {
            self_.counters().refused.add();
            throw QueueFull("this thread has " + std::to_string(limit) +
                            " dependent tasks outstanding; wait for some, or raise MachineOptions::pending_limit");
        }
        self_.counters().stalls.add();
        self_.wait_while_helping([&] { return find() != nullptr; }, {.who = self_});
        return *group.current;
    }
    return add_ring(group);
}

Ring& Dependents::add_ring(DependentGroup& group) {
    core_.backend().require(Backend::Ability::dependences);
    Scope& mine = self_.scope();
    std::erase_if(mine.dependents, [this](Ring* ring) {
        if (!ring->orphaned || !ring->pending().drained() ||
            (!ring->clean() && ring->settled != ring->pending().appended()))
            return false;
        ring->orphaned = false;
        free_.push_back(ring);
        return true;
    });
    std::uint32_t capacity = self_.in_task() ? first_ring_of_task : first_ring_of_thread;
    for (const Ring* ring : group.rings)
        capacity = std::min(std::max(capacity, ring->capacity() * growth), largest_ring);
    const auto used =
        std::find_if(free_.begin(), free_.end(), [&](const Ring* ring) { return ring->capacity() >= capacity; });
    mine.dependents.reserve(mine.dependents.size() + 1);
    group.rings.reserve(group.rings.size() + 1);
    Ring* ring = nullptr;
    if (used != free_.end()) {
        ring = *used;
        free_.erase(used);
    } else {
        free_.reserve(rings_ + 1);  // so that no end of a scope needs memory
        ring = deque_.add(Ring::Kind::dependent, capacity);
        if (ring == nullptr)
            throw QueueFull("this thread has too many dependent tasks outstanding at once; wait for some of them");
        ++rings_;
    }
    ring->set_scope(&mine);
    mine.dependents.push_back(ring);
    group.rings.push_back(ring);
    auto& dependents = core_.board().dependents;
    if (dependents.load(std::memory_order_relaxed) == 0) dependents.store(1, std::memory_order_relaxed);
    return *(group.current = ring);
}

void Dependents::give_back(DependentGroup& group) noexcept {
    for (Ring* ring : group.rings) ring->orphaned = true;
    group = {};
}

void Dependents::give_back(Scope& scope) noexcept {
    for (Ring* ring : scope.dependents) ring->orphaned = false;
    free_.insert(free_.end(), scope.dependents.begin(), scope.dependents.end());
    scope.dependents.clear();
    scope.after = {};
}

// ---- waiting for them ----

bool Dependents::drained(const std::vector<Ring*>& rings) noexcept {
    return std::all_of(rings.begin(), rings.end(), [](Ring* ring) { return ring->pending().drained(); });
}

void Dependents::collect_failures(const std::vector<Ring*>& rings, std::vector<Failure>& failures) {
    for (Ring* ring : rings) {
        ring->settled = ring->pending().appended();
        if (ring->cancels()) ring->forget_cancellations();
        ring->take_failures(failures);
    }
}

// ---- the user's object ----

Initiator& Dependences::initiator_of_its_own(Machine& machine) {
    Initiator& initiator = machine.initiator();
    if (initiator.shared())
        throw UsageError(
            "this thread shares its initiator with others, so what it has issued cannot be told from what they have; "
            "order tasks "
            "on one of a machine's first 63 threads");
    return initiator;
}

Dependences::Dependences(Machine& machine)
    : machine_(machine), initiator_(initiator_of_its_own(machine)), scope_(&initiator_.scope()),
      history_(initiator_.dependents()) {}

Dependences::~Dependences() { Dependents::give_back(group_); }

void Dependences::wait() {
    initiator();
    initiator_.wait_for_dependents(group_.rings);
    if (!group_.rings.empty()) group_.current = group_.rings.front();  // the smallest, which the nearest cache holds
}

void Dependences::refuse_stranger() {
    throw UsageError("a Dependences is used by the thread, or inside the task, that made it; make one for each");
}

void Dependences::tidy() {
    history_.tidy([this](auto&& predecessors) {
        initiator_.call_dependent(&group_, Initiator::any_target, predecessors, [] {});
    });
}

}  // namespace penstock
