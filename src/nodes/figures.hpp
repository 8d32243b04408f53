// What a part of a run has done, as it travels to the program, and all parts together.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "nodes/messages.hpp"
#include "stream/run/run_state.hpp"

namespace penstock::nodes {

/// Of this process's part. The endpoint's thread.
Figures figures_of(streaming::RunState& state);
/// Throws Error for what no part can have done. `filters`: that it has, and how many copies of each.
void check(const Figures& figures, const std::map<std::string, std::int64_t>& filters);
/// Adds those of other nodes: rates and shares are those of all copies.
void add(RunStatistics& all, const std::map<wire::Site, Figures>& parts);

/// What the parts of a run have said last.
class PartFigures {
  public:
    /// An agent has got its part.
    void begin(wire::Site site, const std::string& node, std::uint32_t generation);
    void set(wire::Site site, Figures figures);
    /// It died before its part had ended.
    void lost(wire::Site site, const std::string& how);
    /// The last that was said of each site, by whatever agent.
    std::map<wire::Site, Figures> all() const;
    /// Of each agent, as Run::statistics_by_node() has them.
    std::vector<NodeStatistics> by_node() const;

  private:
    struct Agent {
        NodeStatistics of{};  ///< without figures
        std::optional<Figures> said{};
    };
    mutable std::mutex lock_;
    std::map<wire::Site, std::vector<Agent>> all_;  ///< the last one is the last of each
};

}  // namespace penstock::nodes
