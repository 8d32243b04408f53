// task layer: the part of a task that waits for other tasks: a count of those that it waits for, and a list of those
// that wait for it.
//
// The list of successors is pushed to by one thread (the owner: whoever issues the tasks) and closed, once, by whoever
// completes the task. The link to a successor lies in the successor's own line, beside the count that the completing
// thread is about to lower, so that releasing a successor moves one line (two where it has more than three
// predecessors). A link is the successor's address and the number of its edge in one word.
//
// Happens-before. P is a predecessor of S; everybody who may name P as a predecessor is the owner.
//   push      the owner writes S and the link's next word, then pushes it to P's list (push_list.hpp). P's completing
//             thread takes all and leaves `closed`, so it reads S's words as written.
//   missed    the owner finds the list closed: what P wrote happens before whatever the owner does next, publishing S
//             included.
//   release   each completing thread lowers S's count (acq_rel). Read-modify-writes of one word form one release
//             sequence, so who takes it to zero has acquired what every predecessor wrote, and S's arguments from the
//             owner's own commit().
//   guard     while S is being issued its count holds a large guard, which commit() takes away in the same step in
//             which it adds the edges that were pushed. So nobody sees zero too early, and pushing an edge costs the
//             owner no second read-modify-write.
//   reuse     a completing thread reads a link's next word before it lowers that successor's count, and touches P no
//             more once the list is closed and P's number is published as complete. Only the owner uses a slot again,
//             after it has seen that.
// tests/model/dependence_model_test.cpp checks this very code in a model of the memory order. `./bench dependences`
// prints the cost.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "penstock/detail/channel/push_list.hpp"

namespace penstock {

class Ring;
struct Verdict;

/// The further edges of a task with more predecessors than its lines have room for.
template <class Policy = StandardAtomics>
struct FarEdges {
    static constexpr std::uint32_t size = 30;
    std::array<typename Policy::template Atomic<std::uint64_t>, size> next{};
    FarEdges* more = nullptr;
};

template <class Policy = StandardAtomics>
class alignas(64) Dependent {
  public:
    /// Edges that lie in the line which is written when a predecessor completes, and those in the line beside it.
    static constexpr std::uint32_t first_line_edges = 3;
    static constexpr std::uint32_t near_edges = 11;
    /// Predecessors that one task may wait for; who has more puts tasks that do nothing in between.
    static constexpr std::uint32_t most_edges = 0xffff;

    // ---- the owner, while the task is being issued ----

    /// Nobody waits for it and it waits for nobody. Only when the slot's last task has completed.
    void begin(Ring* ring, int target) noexcept {
        successors_.newest().store(none, std::memory_order_relaxed);
        unfinished_.store(guard, std::memory_order_relaxed);
        verdict_.store(nullptr, std::memory_order_relaxed);
        edges_ = 0;
        far_ = nullptr;
        target_ = static_cast<std::int16_t>(target);
        ring_ = ring;
    }
    std::uint32_t edges() const noexcept { return edges_; }
    /// What only tasks with many predecessors use, for asking for it early.
    const void* second_line() const noexcept { return &near_[first_line_edges]; }
    /// Must a FarEdges be given before the next come_after()?
    bool needs_room() const noexcept {
        return edges_ >= near_edges && (edges_ - near_edges) % FarEdges<Policy>::size == 0;
    }
    void give_room(FarEdges<Policy>& room) noexcept {
        FarEdges<Policy>** end = &far_;
        while (*end != nullptr) end = &(*end)->more;
        room.more = nullptr;
        *end = &room;
    }
    /// Makes this wait for `predecessor`. False, and nothing to wait for, when that one has completed.
    bool come_after(Dependent& predecessor) noexcept {
        const bool waits = predecessor.successors_.push(link(edges_), [this](std::uint64_t newest) {
            if (newest == closed) return false;
            edge(edges_).store(newest, std::memory_order_relaxed);
            return true;
        });
        if (waits) ++edges_;
        return waits;
    }
    /// One more that will arrive(), or has, by other means than the list of a predecessor.
    void expect_one() noexcept { ++edges_; }
    /// All predecessors have been named. True when there is nothing left to wait for: the caller runs it, or hands it
    /// on.
    bool commit() noexcept {
        if (edges_ == 0) return true;
        const std::uint32_t lowered_by = guard - edges_;
        return unfinished_.fetch_sub(lowered_by, std::memory_order_acq_rel) == lowered_by;
    }

    // ---- whoever completes a predecessor ----

    /// Lowers the count. True when this was the last one: the caller runs the task, or hands it on.
    bool arrive() noexcept { return unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

    // ---- whoever completes this task ----

    /// Takes the list of successors; later ones find that there is nothing to wait for.
    std::uint64_t close() noexcept { return successors_.take_all(closed); }
    /// Calls `visit` with each successor of a list that close() gave. `visit` lowers its count, once.
    template <class Visit>
    static void each_successor(std::uint64_t list, Visit&& visit) {
        while (list != none) {
            Dependent& successor = node_of(list);
            list = successor.edge(number_of(list)).load(std::memory_order_relaxed);
            visit(successor);
        }
    }

    // ---- a thread inside this task, which can therefore not complete meanwhile ----

    /// The same list without taking it. Stable but for what the owner pushes meanwhile.
    std::uint64_t look() const noexcept {
        const auto list = successors_.newest().load(std::memory_order_acquire);
        return list == closed ? none : list;
    }

    Ring* ring() const noexcept { return ring_; }
    /// The only target that may run it, or -1.
    int target() const noexcept { return target_; }
    /// Why it must not run, or null. Written before the count is lowered.
    Verdict* verdict() const noexcept { return verdict_.load(std::memory_order_relaxed); }
    /// False when another predecessor was faster.
    bool give_verdict(Verdict* verdict) noexcept {
        Verdict* expected = nullptr;
        return verdict_.compare_exchange_strong(expected, verdict, std::memory_order_relaxed,
                                                std::memory_order_relaxed);
    }
    FarEdges<Policy>* room() const noexcept { return far_; }

  private:
    static constexpr std::uint64_t none = 0;
    static constexpr std::uint64_t closed = 1;
    static constexpr std::uint32_t guard = 1u << 30;

    std::uint64_t link(std::uint32_t number) noexcept {
        return std::uint64_t{number} << 48 | reinterpret_cast<std::uintptr_t>(this);
    }
    static std::uint32_t number_of(std::uint64_t link) noexcept { return static_cast<std::uint32_t>(link >> 48); }
    static Dependent& node_of(std::uint64_t link) noexcept {
        return *reinterpret_cast<Dependent*>(static_cast<std::uintptr_t>(link & ((std::uint64_t{1} << 48) - 1)));
    }
    typename Policy::template Atomic<std::uint64_t>& edge(std::uint32_t number) noexcept {
        if (number < near_edges) [[likely]]
            return near_[number];
        number -= near_edges;
        FarEdges<Policy>* room = far_;
        for (; number >= FarEdges<Policy>::size; number -= FarEdges<Policy>::size) room = room->more;
        return room->next[number];
    }

    /// Owner pushes, whoever completes this task closes
    PushList<std::uint64_t, Policy> successors_{closed};
    /// Owner, then those who complete the predecessors
    typename Policy::template Atomic<std::uint32_t> unfinished_{0};
    /// Owner, before it is published; so are all that follow
    std::int16_t target_ = -1;
    std::uint16_t edges_ = 0;
    Ring* ring_ = nullptr;
    typename Policy::template Atomic<Verdict*> verdict_{nullptr};  ///< the first predecessor that failed
    FarEdges<Policy>* far_ = nullptr;
    /// The next successor of each predecessor
    std::array<typename Policy::template Atomic<std::uint64_t>, near_edges> near_{};
};

using DependentNode = Dependent<>;
static_assert(sizeof(DependentNode) == 128,
              "the second line is touched only by tasks with more predecessors than the first has room for");

}  // namespace penstock
