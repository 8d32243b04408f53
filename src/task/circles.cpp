// Circles of targets that wait for one another's named tasks: what each announces while it waits, and how a circle is found.
#include <algorithm>

#include "penstock/error.hpp"
#include "penstock/initiator.hpp"
#include "task/core.hpp"

namespace penstock {

/// Notes what each target on the way from `from` waits for. The length of the circle, or 0 where the way does not lead back.
int Core::follow_waits(int from, Circle& circle) noexcept {
    int at = from;
    for (int length = 0; length < target_count(); ++length) {
        const Handle awaited = target(at).initiator().awaited();
        Ring* const ring = awaited.none() ? nullptr : awaited.ring();
        if (ring == nullptr || awaited.complete(*ring)) return 0;
        circle[static_cast<std::size_t>(length)] = awaited;
        at = ring->only_target();
        if (at == from) return length + 1;
        if (at < 0) return 0;
    }
    return 0;
}

bool Core::closes_a_circle(int from) noexcept {
    // A target that waits for an unfinished task of the next stays where it is as long as the next does. Seen once, the links may be
    // of different moments; seen twice with the same unfinished tasks, all of them held at the moment between. The caller's own link is
    // one of them: its task may have completed, and the next target gone on to wait, since the caller looked last.
    Circle first, again;
    const int length = follow_waits(from, first);
    return length != 0 && follow_waits(from, again) == length && std::equal(first.begin(), first.begin() + length, again.begin());
}

void Initiator::announce(const Handle& handle) noexcept {
    awaited_word_.store(0, std::memory_order_seq_cst);
    if (handle.none()) return;
    awaited_ring_.store(std::uint64_t{handle.ring_} << 32 | handle.generation_, std::memory_order_seq_cst);
    awaited_word_.store(handle.word_, std::memory_order_seq_cst);
}

Handle Initiator::awaited() const noexcept {
    Handle handle;
    const auto word = awaited_word_.load(std::memory_order_seq_cst);
    const auto ring = awaited_ring_.load(std::memory_order_seq_cst);
    if (word == 0 || awaited_word_.load(std::memory_order_seq_cst) != word) return handle;
    handle.ring_ = static_cast<std::uint32_t>(ring >> 32);
    handle.generation_ = static_cast<std::uint32_t>(ring);
    handle.word_ = word;
    return handle;
}

/// Announces one of the unfinished tasks of the scope that only another target may run, another one at each look, and says whether
/// that target waits for this one: then it is returned, else any_target.
int Initiator::in_a_circle(Scope& scope) noexcept {
    const auto lanes = static_cast<std::uint32_t>(target_count_);
    const auto edges = lanes + static_cast<std::uint32_t>(scope.named.size());
    for (std::uint32_t looked = 0; looked < edges; ++looked) {
        next_edge_ = next_edge_ + 1 >= edges ? 0 : next_edge_ + 1;
        Handle handle;
        Ring* ring = nullptr;
        if (next_edge_ < lanes) {
            if (scope.last[next_edge_] == 0) continue;
            ring = lanes_[next_edge_].ring;
            handle.word_ = scope.last[next_edge_];
        } else {
            ring = scope.named[next_edge_ - lanes];
            if (ring->only_target() == target_) continue;
            handle = Handle(0, 0, {ring->pending().appended(), 0, false});
        }
        handle.ring_ = ring->index();
        handle.generation_ = ring->generation();
        if (handle.complete(*ring)) continue;
        announce(handle);
        return core_.closes_a_circle(target_) ? ring->only_target() : any_target;
    }
    return any_target;
}

void Initiator::check_for_circle(int target) {
    if (core_.closes_a_circle(target_)) throw_would_deadlock(target);
}

void Initiator::throw_would_deadlock(int target) {
    announce({});
    throw WouldDeadlock("this wait can never end: a task on target " + std::to_string(target_) + " waits for a task that only target " +
                        std::to_string(target) + " may run, and that one waits for this one; wait outside the task\n" +
                        core_.waiting_report());
}

}  // namespace penstock
