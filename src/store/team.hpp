// Starting a team and collecting how its ranks ended.
#pragma once

#include <exception>
#include <vector>

#include "penstock/processor_budget.hpp"
#include "penstock/spmd.hpp"

namespace penstock::team {

/// Where the ranks of one team run.
struct Placement {
    ProcessorClaim claim;          ///< empty where ranks are not pinned
    WaitPolicy policy;

    static Placement of(int size, bool pin);
    void pin(int rank) const;
};

/// How one rank ended, for whoever called spmd.
struct Ending {
    int rank = -1;
    int order = 0;                    ///< of failing; 0: it came to its end
    bool consequence = false;         ///< it failed because another rank was gone
    std::exception_ptr error;         ///< null: it came to its end
    bool died = false;                ///< `error` is RankDied
};

/// Throws what the endings amount to: a death before a failure, a cause before its consequences, the first before later ones.
void conclude(const std::vector<Ending>& endings);

/// Is this exception only the consequence of another rank's end?
bool is_consequence(const std::exception_ptr& error) noexcept;

void run_threads(int size, const Program& program, const SpmdOptions& options);
void run_processes(int size, const Program& program, const SpmdOptions& options);

}  // namespace penstock::team
