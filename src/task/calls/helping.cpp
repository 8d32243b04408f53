#include "task/calls/helping.hpp"

#include "task/calls/core.hpp"
#include "task/calls/runner.hpp"

namespace penstock {
namespace {

/// So few that the run is not kept waiting, and more than one, so that the next one's arguments are fetched ahead.
constexpr std::uint32_t most_claimed = 4;

/// The thread's own, where it may help: not inside a task, and where no other thread issues by it.
Initiator* helper_of(Machine& machine) noexcept {
    Initiator* const mine = Initiator::of_this_thread(Core::of(machine).id());
    return mine == nullptr || mine->shared() || mine->in_task() || !mine->helps() ? nullptr : mine;
}

/// What this thread itself has issued, and then what tasks of targets have, jobs of firings among it; nothing that
/// other threads of the program issued, who may have told it to wait for this one.
template <class Visit>
bool any_ring(Initiator& mine, JobsOf whose, Visit&& visit) {
    const auto look_at = [&](Initiator& initiator) {
        Ring* const ring = initiator.deque().inviting(Initiator::any_target, Deque::Look::everything);
        return ring != nullptr && visit(*ring);
    };
    if (look_at(mine)) return true;
    if (whose == JobsOf::this_thread) return false;
    const Core& core = mine.core();
    for (std::uint32_t i = 0, count = core.initiator_count(); i < count; ++i)
        if (Initiator& other = core.initiator(i); other.target() != Initiator::any_target && look_at(other))
            return true;
    return false;
}

}  // namespace

bool help_with_jobs(Machine& machine, JobsOf whose) {
    Initiator* const mine = helper_of(machine);
    return mine != nullptr && any_ring(*mine, whose, [&](Ring& ring) {
               const ClaimSize size{.most = most_claimed, .share = mine->core().workers()};
               const auto claim = size.claim(ring);
               if (claim.count == 0) return false;
               mine->runner().run_claimed(ring, claim, mine->counters().helped, size);
               return true;
           });
}

bool jobs_wait(Machine& machine) noexcept {
    Initiator* const mine = helper_of(machine);
    return mine != nullptr && any_ring(*mine, JobsOf::anybody, [](Ring&) { return true; });
}

}  // namespace penstock
