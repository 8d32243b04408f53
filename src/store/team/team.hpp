// Starting a team and collecting how its ranks ended.
#pragma once

#include "machine/said_by.hpp"
#include "penstock/detail/machine/owned_descriptor.hpp"
#include "penstock/spmd.hpp"
#include "penstock/store_way.hpp"
#include "process/processor_budget.hpp"

namespace penstock::team {

/// Where the ranks of one team run.
struct Placement {
    ProcessorClaim claim;
    std::vector<int> processors;  ///< one for each rank; empty where ranks are not pinned
    WaitPolicy policy;

    static Placement of(int size, bool pin);
    void pin(int rank) const;
};

/// How one rank ended, for whoever called spmd.
struct Ending {
    int rank = -1;
    int order = 0;             ///< of failing; 0: it came to its end
    bool consequence = false;  ///< it failed because another rank was gone
    std::exception_ptr error;  ///< null: it came to its end
    bool died = false;         ///< `error` is RankDied
};

/// Throws what the endings amount to: a death before a failure, a cause before its consequences, the first before later
/// ones.
void conclude(const std::vector<Ending>& endings);

/// Calls `tell(what, consequence)`: what this exception says, and whether it is only the consequence of another rank's
/// end. Asks for no memory.
template <class Tell>
void tell_cause(const std::exception_ptr& cause, Tell&& tell) {
    try {
        std::rethrow_exception(cause);
    } catch (const RankLost& lost) {
        tell(lost.what(), true);
    } catch (const std::exception& error) {
        tell(said_by(error), false);
    } catch (...) {
        tell("an exception that is not a std::exception", false);
    }
}

/// How a process ended, in a form that can be sent. `what` is for those that failed.
struct EndRecord {
    std::int32_t rank = -1;
    State state = State::starting;
    std::int32_t order = 0;
    bool consequence = false;
    std::int32_t pid = 0;
    std::int32_t exit_code = -1;
    std::int32_t signal = 0;
    std::uint32_t length = 0;
    std::array<char, 1012> text{};

    std::string_view what() const noexcept { return {text.data(), length < text.size() ? length : text.size()}; }
    void write(std::string_view what) noexcept {
        length = static_cast<std::uint32_t>(what.copy(text.data(), text.size()));
    }
};

Ending ending_of(const EndRecord& record);

/// A negative exit code and signal 0 are not known.
RankDied rank_died(int rank, int pid, int exit_code, int signal);

/// The same rank; throws NotOverNodes where its team is spread over nodes. `what`: "a Mutex".
Rank on_one_node(Rank me, const char* what);

/// Lets this process's part in fence_all() be done from afar, and notes in its seat whether that is so.
void register_fence(Seat& seat) noexcept;

/// Forks the ranks from this process and returns when all have ended. `caller`: a descriptor; when its other end is
/// closed, nobody waits for the team any more and it is ended; -1 for none. Throws SystemError.
std::vector<EndRecord> run_forked(int size, const Program& program, const SpmdOptions& options,
                                  const Placement& placement, int caller);

/// As run_forked, by the process that launch() started. Throws UsageError for a program that cannot be sent there.
std::vector<EndRecord> run_launched(int size, const Program& program, const SpmdOptions& options,
                                    const Placement& placement);

/// What StoreWays::here() returns in this process, unless it was asked before.
void inherit(const StoreWays& ways);

void run_threads(int size, const Program& program, const SpmdOptions& options);
void run_processes(int size, const Program& program, const SpmdOptions& options);
/// By the layer that has clusters (src/nodes/cluster_team.cpp).
void run_on_nodes(int size, const Program& program, const SpmdOptions& options);

}  // namespace penstock::team
