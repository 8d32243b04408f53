// An engine that starts each agent once, as that of a job of mpirun does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "nodes/cluster_state.hpp"
#include "penstock/cluster.hpp"

namespace filters {

/// Of all agents, also those that are none any more when they are looked for.
inline std::map<std::string, int> processes_of(const penstock::Cluster& cluster) {
    std::map<std::string, int> all;
    for (const auto& agent : cluster.agents()) all[agent.node] = agent.process;
    return all;
}

/// Agents are processes of this machine; none is started in a dead one's place.
class EngineOnce final : public penstock::Engine {
  public:
    using Node = penstock::Node;
    /// `tells`: who has died.
    explicit EngineOnce(bool tells) : engine_(penstock::nodes::engine_named({})) {
        if (tells)
            engine_->died = [this](int site, std::uint32_t generation, const std::string& how) {
                if (died) died(site, generation, how);
            };
    }
    void start(const Node& node, const std::string& invitation) override {
        if (node.generation != 1) throw penstock::Error("there is no other");
        engine_->start(node, invitation);
    }
    void end(const Node&) noexcept override {}
    void becomes(const Node& spare, const Node& node) override {
        at_hand_over(spare.name);
        engine_->becomes(spare, node);
    }
    bool starts_others() const noexcept override { return false; }

    std::function<void(const std::string& spare)> at_hand_over = [](const std::string&) {};

  private:
    const std::shared_ptr<penstock::Engine> engine_;
};

}  // namespace filters
