// The ways to compute one likelihood. All give the same bits.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "apps/likelihood/likelihood.hpp"
#include "apps/likelihood/partials.hpp"
#include "apps/team.hpp"
#include "penstock/dependences.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::likelihood {

/// How blocks of patterns are dealt out: ranges of about `wanted` patterns, as many for each of `workers` (PBPI's
/// static balance: the number is made to fit, and then the size). Without a size: one range a worker.
std::vector<Range> equal_ranges(std::size_t blocks, std::size_t wanted, std::size_t workers);

/// Threads by hand: shares of the branches, a barrier, shares of the patterns. Evaluates so many times; gives the
/// seconds and, in `found`, the last result.
template <class Real>
double hand(Likelihood<Real>& likelihood, const Tree& tree, const Order& order, Team& team, std::size_t evaluations,
            double& found);

/// Tasks over ranges of patterns, each through the whole tree, dealt out: as many for each worker, the caller too.
template <class Real>
double tagged(Likelihood<Real>& likelihood, const Tree& tree, const Order& order, Machine& machine, std::size_t wanted);

/// The same in ranges that the runtime sizes while it runs, for whoever is free.
template <class Real>
double automatic(Likelihood<Real>& likelihood, const Tree& tree, const Order& order, Machine& machine);

/// Calls body(range) for each, dealt out in equal numbers to the targets and the caller, and waits for all.
template <class Body>
void deal(Machine& machine, std::span<const Range> ranges, Body& body) {
    const auto targets = static_cast<std::size_t>(machine.targets()), workers = targets + 1;
    std::size_t next = 0;
    for (std::size_t target = 0; target < targets; ++target)
        for (const std::size_t end = (target + 1) * ranges.size() / workers; next < end; ++next)
            machine.on(static_cast<int>(target)).call([&body, range = ranges[next]] { body(range); });
    try {
        for (; next < ranges.size(); ++next) body(ranges[next]);
    } catch (...) {
        machine.barrier();
        throw;
    }
    machine.barrier();
}

/// PBPI's form: at each node three loops over ranges of patterns with a barrier behind each (what comes over the branch
/// of one child; times what comes over that of the other; rescaling), a tagged call for each range.
template <class Real>
double loops(Likelihood<Real>& likelihood, Partials<Real>& partials, const Tree& tree, const Order& order,
             Machine& machine, std::size_t wanted);

/// Without barriers: a task for each node and range of patterns comes after those of the node's children, as their tags
/// say. For trees of one shape.
template <class Real>
class Dependent {
  public:
    /// All must live as long as this; `tree` and `order` give the shape.
    Dependent(Likelihood<Real>& likelihood, Partials<Real>& partials, const Tree& tree, const Order& order,
              Machine& machine, std::size_t wanted);

    /// Issues all tasks.
    double evaluate();
    /// The same from a recording, which is made anew when other nodes are rescaled than last time.
    double replay();

  private:
    /// A task of one node and one range. What does not change is here, and arguments are what others write.
    struct NodeTask {
        kernels::likelihood::Child<Real> left, right;
        std::span<std::int32_t> exponents;  ///< empty where it is not rescaled
    };
    static void combine_node(std::span<const Real> left, std::span<const Real> right, std::span<Real> made,
                             const NodeTask* task);
    static void add_sites(std::span<const Real> top, const Dependent* all, std::size_t range);
    /// The branches; gives whether the same nodes are rescaled as last time.
    bool prepare();
    void issue();

    Likelihood<Real>* likelihood_;
    Partials<Real>* partials_;
    const Tree* tree_;
    const Order* order_;
    Machine* machine_;
    std::vector<Range> ranges_;
    std::vector<Step> steps_;
    std::vector<NodeTask> tasks_;  ///< of each step and range
    Dependences calls_;
    std::optional<Recording> recording_;
};

}  // namespace penstock::apps::likelihood
