// Dependent tasks that wait for nothing any more: who runs them, and what they make ready.
#include <algorithm>
#include <array>
#include <new>

#include "penstock/detail/machine/relax.hpp"
#include "task/calls/running.hpp"
#include "task/calls/target.hpp"
#include "task/dependent/heights.hpp"
#include "task/waiting/verdict.hpp"
#include "task/waiting/watched.hpp"

namespace penstock {

std::uint64_t Runner::run_dependent(DependentNode& first, std::uint64_t most) noexcept {
    Inside inside(*this);
    std::uint64_t count = 0;
    for (DependentNode* node = &first; node != nullptr; ++count) {
        if (count == most) {
            hand_on(*node);
            break;
        }
        node = run_and_release(*node, inside.task);
    }
    return count;
}

DependentNode* Runner::run_and_release(DependentNode& node, Running& running) noexcept {
    Ring& ring = *node.ring();
    auto& pending = ring.pending();
    const auto slot = static_cast<std::uint32_t>(&node - ring.nodes());
    TaskRecord& record = ring.slots()[slot];
    Extension* const extension = &ring.extensions()[slot];
    const std::uint64_t number = record.sequence.load(std::memory_order_relaxed) >> 1;
    running.ring = &ring;
    running.number = number;
    running.node = &node;
    if (node.verdict() != nullptr) [[unlikely]]
        pass_over(ring, node, entry_of(record.payload.entry),
                  {record.payload.line, extension->bytes, (record.payload.flags & TaskPayload::boxed) != 0}, number);
    else run_one(ring, record.payload, extension, number);
    if (ring.cancels()) [[unlikely]]
        ring.take_cancellation(number);  // asked for too late
    const auto verdict = Verdict::on(ring, number);
    const auto successors = node.close();
    pending.complete(number);  // from here on the owner may use the slot again
    DependentNode* next = nullptr;
    if (core_.heights().any()) [[unlikely]] {
        next = release_by_height(successors, verdict ? &*verdict : nullptr);
    } else {
        DependentNode::each_successor(successors, [&](DependentNode& successor) {
            if (verdict) [[unlikely]]
                Verdict::give(successor, *verdict);
            if (!successor.arrive()) return;
            if (next != nullptr || (successor.target() >= 0 && successor.target() != target_))
                return hand_on(successor);
            next = &successor;
            const Ring& its = *successor.ring();
            prefetch_read(&its.slots()[&successor - its.nodes()]);
        });
    }
    counters_.tasks.add_release();
    pending.complete_claim({number, 1}, claimant_in(ring));
    penstock::wake_at(ring.owner_bell());
    return next;
}

/// Of those that become ready the highest is run next, unless a higher one waits somewhere; the others are handed on.
DependentNode* Runner::release_by_height(std::uint64_t successors, const Verdict* verdict) noexcept {
    Heights& heights = core_.heights();
    DependentNode* next = nullptr;
    std::uint32_t height = 0;
    DependentNode::each_successor(successors, [&](DependentNode& successor) {
        if (verdict != nullptr) Verdict::give(successor, *verdict);
        if (!successor.arrive()) return;
        if (successor.target() >= 0 && successor.target() != target_) return hand_on(successor);
        const auto its = heights.of(successor);
        if (next != nullptr && its <= height) return hand_on(successor);
        if (next != nullptr) hand_on(*next);
        next = &successor;
        height = its;
    });
    if (next == nullptr || heights.is_highest(height)) return next;
    hand_on(*next);
    return nullptr;
}

std::uint64_t Runner::run_ready(const Scope* only, std::uint64_t most) noexcept {
    DependentNode* node = named_.take_oldest(only);
    if (node == nullptr) node = ready_.take_newest(only);
    if (node == nullptr && core_.heights().inviting()) [[unlikely]]
        node = take_by_height(only);
    if (node == nullptr) node = take_from_others(only);
    return node == nullptr ? 0 : run_dependent(*node, most);
}

inline DependentNode* Runner::take_from_others(const Scope* only) noexcept {
    DependentNode* node = nullptr;
    core_.each_initiator([&](Initiator& other) {
        if (node != nullptr || &other == &self_) return;
        node = only == nullptr ? take_several(other.runner().ready_) : other.runner().ready_.take_oldest(only);
    });
    return node;
}

/// Not always before what others offer: these must not be kept out.
DependentNode* Runner::take_by_height(const Scope* only) noexcept {
    DependentNode* const of_others = ++takes_ % 8 == 0 ? take_from_others(only) : nullptr;
    return of_others != nullptr ? of_others : core_.heights().take(only);
}

void Runner::hand_on(DependentNode& node) noexcept {
    if (self_.target_count() == 0) {
        run_dependent(node);
        return;
    }
    Ring& ring = *node.ring();  // the task may be over as soon as it has been pushed
    const int target = node.target();
    if (target >= 0) {
        Target& named = core_.target(target);
        named.runner().named().push(node);
        penstock::wake_at(named.waiter().bell());
        return;
    }
    if (core_.heights().any() && core_.heights().push(node)) [[unlikely]]
        return tell_of_ready(ring);
    try {
        ready_.push(node);
    } catch (const std::bad_alloc&) {  // no room for it in the queue: at once
        run_dependent(node);
        return;
    }
    tell_of_ready(ring);
}

void Runner::tell_of_ready(Ring& ring) noexcept {
    if (core_.board().idle_targets.load(std::memory_order_relaxed) != 0) [[unlikely]]
        core_.wake_a_target();
    penstock::wake_at(ring.owner_bell());
}

/// Whoever looked while it was away and is about to sleep is told.
void Runner::put_back(ReadyQueue& queue, DependentNode& node) noexcept {
    Ring& ring = *node.ring();
    try {
        queue.push(node);
    } catch (const std::bad_alloc&) {
        return hand_on(node);
    }
    if (&queue != &named_) tell_of_ready(ring);
}

void Runner::each_other_ready(const std::function<void(ReadyQueue&)>& visit) {
    core_.each_initiator([&](Initiator& other) {
        if (&other != &self_) visit(other.runner().ready_);
    });
}

/// The oldest; those that come with it are ready here from now on, for anybody.
DependentNode* Runner::take_several(ReadyQueue& queue) noexcept {
    std::array<DependentNode*, 16> several;
    const auto count = queue.take_oldest(several);
    if (count == 0) return nullptr;
    if (count > 1) {
        std::array<Ring*, several.size()> rings;  // asked now: once they are pushed they may be over at any moment
        for (std::size_t i = 1; i < count; ++i) rings[i] = several[i]->ring();
        std::reverse(several.begin() + 1, several.begin() + static_cast<std::ptrdiff_t>(count));
        ready_.push(std::span(several).subspan(1, count - 1));
        for (std::size_t i = 1; i < count; ++i) tell_of_ready(*rings[i]);
    }
    return several[0];
}

bool Runner::can_run_ready(const Scope* only) noexcept {
    const auto good = [only](ReadyQueue& queue) { return only == nullptr ? queue.inviting() : queue.holds(*only); };
    bool can = good(named_);
    core_.each_initiator([&](Initiator& other) { can = can || good(other.runner().ready_); });
    Heights& heights = core_.heights();
    return can || (only == nullptr ? heights.inviting() : heights.holds(*only));
}

void Runner::order_ready() noexcept {
    core_.each_initiator([&](Initiator& one) {
        ReadyQueue& queue = one.runner().ready_;
        for (auto left = queue.size(); left != 0; --left) {
            DependentNode* const node = queue.take_oldest(nullptr);
            if (node == nullptr) return;
            Ring& ring = *node->ring();  // the task may be over as soon as it has been pushed
            if (core_.heights().push(*node)) tell_of_ready(ring);
            else put_back(queue, *node);
        }
    });
}

std::vector<DependentNode*> Runner::take_all_of_known_height() { return core_.heights().take_all(); }

void Runner::look_at_watched(std::size_t most) noexcept {
    auto& watched = core_.watched();
    if (!watched.any()) return;
    watched.look(
        [this](const Handle& handle, DependentNode& node) {
            Verdict::pass_on(handle, node);
            if (node.arrive()) hand_on(node);
        },
        most);
}

void Runner::pass_over(Ring& ring, DependentNode& node, const Entry& entry, const PackedArguments& arguments,
                       std::uint64_t number) noexcept {
    entry.discard(arguments);
    const Verdict::Owned verdict(node.verdict());
    ring.fail(verdict->failure_of(number, entry, target_));
}

}  // namespace penstock
