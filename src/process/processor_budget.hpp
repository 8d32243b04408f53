// Machines of one program, and of several processes of one host, take different processors instead of fighting.
//
// Each machine claims processors in a table: one inside the process for all its machines, and, when the user names a
// budget (MPI outside, Penstock inside), one small file for each user and name. A process that dies without a word
// loses its claims: the next one that looks in the table finds by process number and start time that it is gone.
#pragma once

#include <map>
#include <memory>

#include "penstock/topology.hpp"
#include "process/budget_table.hpp"

namespace penstock {

namespace budget {

/// How many claims each processor has; absent means none.
using Claims = std::map<int, int>;

/// At most `wanted` processors, each once, best first: the least claimed; then `near` itself; then those whose core is
/// least used; then those closest to `near` (or to the first chosen); then by index.
std::vector<int> chosen(const Topology& topology, const Claims& claims, int wanted, int near);

}  // namespace budget

/// Processors that one machine has for itself as long as this lives. Moved, not copied. In a forked child it holds
/// nothing and gives nothing back.
class ProcessorClaim {
  public:
    /// Indices, each once, in the order in which to use them; as many as wanted, or all allowed ones if that is fewer.
    std::span<const int> processors() const noexcept { return processors_; }

    /// How many of them somebody else had claimed already: 0 when the claim is disjoint from all others.
    int shared() const noexcept { return shared_; }

    /// Gives the processors back now. Never throws: what could not be given back is recovered when the process ends.
    void release() noexcept { *this = ProcessorClaim(); }

  private:
    friend class ProcessorBudget;
    /// What stands in the tables; its end takes it out.
    struct Held {
        std::vector<budget::Table> tables;
        std::uint64_t id;
        long owner;  // the process that claimed: a forked child must not give it back
        ~Held();
    };
    std::vector<int> processors_;
    int shared_ = 0;
    std::unique_ptr<Held> held_;
};

struct BudgetOptions {
    /// Where the shared table is; empty: /dev/shm, else $XDG_RUNTIME_DIR, else the temporary folder.
    std::filesystem::path directory = {};
    /// What there is to claim; null: Topology::here(). Must outlive the budget.
    const Topology* topology = nullptr;
};

/// Where machines agree on who runs where. Copies mean the same budget; safe from any thread.
class ProcessorBudget {
  public:
    /// The budget that the environment names in PENSTOCK_BUDGET; without it (or with an empty value) that of this
    /// process alone.
    static ProcessorBudget from_environment();

    /// The budget of this name, shared with the user's other processes on this host that join the same (processes in
    /// another pid namespace do not see it). The empty name is the budget of this process alone. Throws UsageError for
    /// a name that is not 1 to 64 letters, digits, '-', '_' and '.' starting with a letter or digit.
    static ProcessorBudget join(std::string_view name, const BudgetOptions& options = {});

    /// Claims `wanted` processors: free ones first, whole free cores before hardware threads of a used core, near to
    /// `near` (an index; -1: no wish) before far from it, `near` itself first of all when it is free. When there are
    /// not enough free ones the least claimed are shared. Throws UsageError for `wanted` < 1, SystemError when the
    /// table cannot be used. Costs about 100 us with a named budget.
    ProcessorClaim claim(int wanted, int near = -1);

    /// Who has claimed what in this budget now; the dead are cleared away first.
    std::vector<budget::Entry> members() const;

    /// Its name; empty for that of this process alone.
    const std::string& name() const noexcept { return name_; }

  private:
    ProcessorBudget() = default;
    std::string name_;
    const Topology* topology_ = nullptr;
    budget::Table table_;
};

}  // namespace penstock
