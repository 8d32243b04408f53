// task layer: what an initiator's bookkeeping consists of: the scope of a running task, and the board that all threads
// of a machine look at.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "penstock/detail/machine/waiter.hpp"
#include "penstock/detail/task/ring.hpp"

namespace penstock {

/// What all threads of one machine look at with every task. Written rarely.
struct alignas(128) MachineBoard {
    /// Targets that found nothing for about a microsecond and may be asleep
    std::atomic<std::uint32_t> idle_targets{0};
    /// 1 once targets got work by another way than from one thread (a second thread, calls inside tasks, postings):
    /// from then on an empty lane does not say that its target is idle. Whoever completes such work wrote this before.
    std::atomic<std::uint32_t> mixed{0};
    alignas(128) std::atomic<std::uint32_t> timeline{0};  ///< 1 while the full timeline is recorded
    std::atomic<std::uint32_t> urgent{0};                 ///< parts of deques that take tasks of high priority
    /// 1 once a dependent task was issued: from then on targets look for ready ones
    std::atomic<std::uint32_t> dependents{0};
};

/// Tasks that one thread has issued and no target has begun yet.
struct Pending {
    std::size_t tasks = 0;
    std::size_t bytes = 0;  ///< of the descriptors that they occupy in its deque
};

/// Rings for dependent tasks that are waited for together: those of one scope, or of one Dependences.
struct DependentGroup {
    std::vector<Ring*> rings;
    Ring* current = nullptr;  ///< takes the next
};

/// What was issued by one running task, or by the thread itself outside tasks: what its barrier covers.
struct Scope {
    Ring* current = nullptr;             ///< the part of the deque that the next task goes to
    std::vector<Ring*> rings;            ///< the parts that may hold tasks of this scope
    std::vector<Ring*> dependents;       ///< the rings of all its dependent tasks, whichever group they are in
    DependentGroup after;                ///< those that name their predecessors
    std::vector<std::uint64_t> last;     ///< for each lane: word of the last handle issued by this scope, 0 for none
    std::vector<std::uint64_t> before;   ///< for each lane: number of the last record when the scope began
    std::uint64_t immediate_before = 0;  ///< the same for tasks that ran inside their call
    std::uint64_t immediate_until = Ring::no_limit;  ///< the last of these, once the scope's task has ended
};

/// The scopes of one initiator's tasks, but for its thread's own. Used by its thread alone.
class Scopes {
  public:
    /// One that holds nothing. Throws std::bad_alloc.
    Scope& take(std::size_t targets);
    /// Its task has ended and did not wait for what it issued.
    void orphan(Scope& scope) noexcept { orphans_.push_back(&scope); }
    /// Calls `ended(scope)` for each of these, and forgets those for which it says yes.
    template <class Ended>
    void reap(Ended&& ended) noexcept {
        std::erase_if(orphans_, [&](Scope* scope) { return ended(*scope); });
    }
    /// Its lists are empty again.
    void give_back(Scope& scope) noexcept { free_.push_back(&scope); }

  private:
    std::vector<std::unique_ptr<Scope>> all_;
    // Both have room for all scopes, so that nothing need be asked for at the end of a task.
    std::vector<Scope*> free_;
    std::vector<Scope*> orphans_;
};

}  // namespace penstock
