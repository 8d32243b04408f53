// A team of ranks on a cluster: what the program tells the agents of it, and what they run.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>

#include "nodes/messages.hpp"
#include "nodes/recipe.hpp"
#include "store/far/far_team.hpp"

namespace penstock::nodes {

/// What is asked for.
struct TeamOrder {
    int size = 0;
    std::string group{};  ///< of nodes; empty: all nodes
    Recipe recipe{};      ///< of forms "build", or those of FarProgram::read_programs
    std::chrono::nanoseconds accept_within{};
    bool pin = true;
};

/// How a rank ended, as the program knows it.
struct TeamEnd {
    bool ended = false;  ///< in any way
    bool died = false;   ///< its node is lost
    int order = 0;       ///< in which the ranks ended
    std::string node{};
    std::string how{};  ///< the node was lost
    int process = 0;
    team::RankEnd end{};
};

/// A team, as the cluster sees it.
struct ClusterTeam {
    team::TeamPlan plan{};
    std::set<wire::Site> ready{};
    std::string refused{};                     ///< by a node: why
    std::map<wire::Site, std::string> lost{};  ///< how
    std::vector<TeamEnd> ends{};               ///< by rank
    int ended = 0;
};

struct TeamOptions {
    std::chrono::nanoseconds accept_within{};
    bool pin = true;
};

/// Where its call lies in the build; where the function lies whose address the closure is, if it is one; the closure.
using CarriedProgram = std::tuple<std::uint64_t, std::pair<std::string, std::uint64_t>, std::vector<std::byte>>;

std::vector<std::byte> team_part(const team::TeamPlan& plan, const TeamOrder& order);
std::tuple<team::TeamPlan, TeamOptions, Recipe> team_from(std::uint32_t number, std::span<const std::byte> bytes);
/// Throws UsageError, saying what is missing here.
std::unique_ptr<team::FarProgram> program_of(const Recipe& recipe);
RankEnded ended(const team::RankEnd& end);

struct ClusterState;
/// Runs a team and returns how its ranks ended, by rank. `look` is asked about every 20 ms; when it is true, the ranks
/// are interrupted, and waited for 5 s at most. Throws UsageError, NodeDied.
std::vector<TeamEnd> run_team(ClusterState& cluster, const TeamOrder& order, const std::function<bool()>& look = {});

}  // namespace penstock::nodes
