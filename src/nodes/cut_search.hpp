// Which group of nodes each filter is for: the fewest bytes between nodes, with no group above its share of the work.
// Numbers alone; placing.cpp makes them of a graph and a profile.
//
// Up to 24 free units, and as long as a search of a few million steps is enough, the answer is the best one (branch and
// bound). Beyond that units are moved and exchanged from several beginnings as long as that helps: Fiduccia and
// Mattheyses, "A linear-time heuristic for improving network partitions", 1982, whose passes also go through worse
// states. One of the beginnings is the best answer for units that have been joined to 24 (Karypis and Kumar, "A fast
// and high quality multilevel scheme for partitioning irregular graphs", 1998).
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace penstock::nodes {

struct CutProblem {
    /// What goes somewhere as a whole.
    struct Unit {
        /// By group: what it adds to the group's ratio, which is the work of its busiest node over its share of all
        /// work. `never`: it may not go there.
        std::vector<double> ratio{};
        std::vector<double> memory{};  ///< by group: bytes on the group's fullest node
        std::vector<double> own{};     ///< by group: bytes a second between its own parts
    };
    /// Between two units.
    struct Edge {
        std::size_t one = 0, other = 0;
        double apart = 0;                ///< bytes a second when they are in two groups
        std::vector<double> together{};  ///< by group, when both are there: it may have several nodes
        bool must_part = false;          ///< they may not be in one group
    };
    static constexpr double never = std::numeric_limits<double>::infinity();

    std::vector<double> shares{};  ///< of each group in all work; their sum is 1
    std::vector<double> memory{};  ///< of a node of each group; `never`: as much as it takes
    std::vector<Unit> units{};
    std::vector<Edge> edges{};
};

struct CutAnswer {
    std::vector<std::size_t> group{};  ///< of each unit
    double cost = 0;                   ///< bytes a second between nodes
    double balance = 0;                ///< the highest ratio
    bool best = false;                 ///< else: none was found that is better
};

/// What was found, and whether there can be others.
struct CutFound {
    std::optional<CutAnswer> answer{};
    bool searched_all = false;
};

/// With the least highest ratio.
CutFound most_even(const CutProblem& problem);
/// With the least cost, and no ratio above `balance`.
CutFound least_cut(const CutProblem& problem, double balance);

}  // namespace penstock::nodes
