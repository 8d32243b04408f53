// task layer: how one initiator issues dependent tasks (dependent.hpp): where they are written, what they come after,
// and who waits for them. One task is begin(), come_after() for each predecessor, and commit() or abandon().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "penstock/detail/machine/relax.hpp"
#include "penstock/detail/task/ring.hpp"
#include "penstock/detail/task/scope.hpp"
#include "penstock/handle.hpp"

namespace penstock {

class Core;
class Deque;

/// The dependent tasks of one initiator. Used by its thread alone.
class Dependents {
  public:
    /// `deque`: where its rings are added.
    Dependents(Initiator& self, Core& core, Deque& deque) noexcept : self_(self), core_(core), deque_(deque) {}
    Dependents(const Dependents&) = delete;
    Dependents& operator=(const Dependents&) = delete;

    /// Where a task is being written, until commit() or abandon().
    struct Spot {
        /// The line of a task's extension is asked for so many tasks before
        static constexpr std::uint64_t extensions_ahead = 4;
        TaskRecord* record = nullptr;
        Ring* ring = nullptr;
        DependentNode* node = nullptr;
        std::uint64_t number = 0;
        std::uint64_t serial = 0;  ///< never used twice by one initiator
        // Edges that push_edges() pushes at the end, one after the other: a read-modify-write holds up every load
        // behind it, so all blocks are looked up before the first.
        static constexpr std::uint32_t most_edges_left = 8;
        std::uint32_t edges_left = 0;
        std::array<Ring*, most_edges_left> edge_ring;
        std::array<std::uint64_t, most_edges_left> edge_number;
    };

    /// `group`: where the task is kept, or null for the scope's own. Throws NestingTooDeep, QueueFull, CannotCarryOver.
    Spot begin(DependentGroup* group, int target);
    Handle commit(Spot& spot);
    /// The task will not run; it counts as cancelled.
    void abandon(Spot& spot) noexcept;

    void come_after(Spot& spot, const Handle& predecessor);
    /// One that this initiator issued itself.
    void come_after(Spot& spot, Ring& ring, std::uint64_t number);
    void push_edges(Spot& spot);

    static bool drained(const std::vector<Ring*>& rings) noexcept;
    static void collect_failures(const std::vector<Ring*>& rings, std::vector<Failure>& failures);
    /// The group is used no more. Others take over its rings once their tasks have completed.
    static void give_back(DependentGroup& group) noexcept;
    /// So is the scope.
    void give_back(Scope& scope) noexcept;

  private:
    void look_for_failure(Spot& spot, Ring& ring, std::uint64_t number);
    void make_room(DependentNode& node);
    Ring& ring_with_room(DependentGroup& group);
    Ring& add_ring(DependentGroup& group);

    Initiator& self_;
    Core& core_;
    Deque& deque_;
    std::uint64_t serial_ = 0;
    std::uint32_t rings_ = 0;  ///< made so far
    std::vector<Ring*> free_;
    std::vector<FarEdges<>*> free_rooms_;
    std::vector<std::unique_ptr<FarEdges<>>> rooms_;
};

[[gnu::always_inline]] inline void Dependents::come_after(Spot& spot, Ring& ring, std::uint64_t number) {
    DependentNote& note = ring.note(number);
    if (note.number == number) [[likely]] {
        if (note.last_successor == spot.serial) return;
        note.last_successor = spot.serial;
        if (!note.complete) {
            // The words of completion stand eight to a line and move less often than the task's own line.
            if (!ring.pending().completed(number)) {
                if (spot.edges_left == Spot::most_edges_left) [[unlikely]]
                    push_edges(spot);
                spot.edge_ring[spot.edges_left] = &ring;
                spot.edge_number[spot.edges_left++] = number;
                return prefetch_write(&ring.nodes()[ring.pending().slot(number)]);
            }
            note.complete = true;
        }
    }
    if (ring.may_have_failed(number)) [[unlikely]]
        look_for_failure(spot, ring, number);
}

}  // namespace penstock
