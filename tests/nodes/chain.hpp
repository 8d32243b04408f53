// numbers -> add (on other nodes) -> collect: the graph whose nodes these tests end, stop and cut off.
#pragma once

#include <csignal>
#include <cstring>

#include "nodes/filters.hpp"
#include "penstock/cluster.hpp"

namespace filters {

struct WorkOptions {
    int copies = 4;
    int micros = 200;                       ///< that a firing takes
    std::int64_t deadly = -1;               ///< the value that ends its node
    Policy policy = Policy::demand_driven;  ///< of the stream to them; keys are those of the value
};

inline constexpr Policy policies[] = {Policy::demand_driven, Policy::round_robin, Policy::random, Policy::by_key,
                                      Policy::chosen};

struct WorkChain {
    Graph graph;
    Collect* sink = nullptr;

    WorkChain(OnNodeLoss loss, bool ordered, std::int64_t count, const WorkOptions& options = {}) {
        auto& source = graph.add<Numbers>("numbers", {}, count);
        auto& add = graph.add<Add>("add", {.copies = options.copies, .nodes = "workers", .on_node_loss = loss}, 0,
                                   options.micros, std::int64_t{-1}, options.deadly);
        sink = &graph.add<Collect>("collect");
        StreamOptions to_nodes{.policy = options.policy};
        if (options.policy == Policy::by_key || options.policy == Policy::chosen)
            to_nodes.key = [policy = options.policy, copies = options.copies](const Tags&,
                                                                              std::span<const std::byte> values) {
                std::int64_t value = 0;
                std::memcpy(&value, values.data(), sizeof value);
                return static_cast<std::uint64_t>(policy == Policy::by_key ? value % 16 : value % copies);
            };
        graph.connect(source.out, add.in, to_nodes);
        graph.connect(add.out, sink->in, {.ordered = ordered});
    }
    void wait_for(std::size_t arrived) const {
        while (sink->arrived < arrived) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
};

/// Small machines; nothing is dropped for the deaths that a test brings about.
inline ClusterOptions workers(int count) {
    ClusterOptions options;
    options.nodes = {{"workers", count}};
    options.machine.targets = 1;
    options.node_machine.targets = 1;
    options.deaths_of_a_buffer = 1'000;
    options.log = [](const std::string&) {};
    return options;
}

/// False: there is none just now.
inline bool hit(const Cluster& cluster, const std::string& node, int signal) {
    for (const auto& agent : cluster.agents())
        if (agent.node == node) return kill(agent.process, signal) == 0;
    return false;
}

}  // namespace filters
