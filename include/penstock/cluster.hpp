// nodes layer: a graph that runs on several machines. The program makes a cluster, which has an engine start one agent
// for each node; each agent runs the copies of filters that are for its node, and streams between nodes go over
// sockets.
//
//     Cluster cluster{{.nodes = {{"decoders", 4}}}};
//     graph.add<Decode>("decode", {.copies = 4, .nodes = "decoders", .on_node_loss = OnNodeLoss::replay});
//     auto run = graph.start(cluster);
//     run.finish();
//
// Which filters an agent can make: those of components (components.hpp) that it knows by name too; and any, where the
// agent is the same build of the same program (become_agent).
//
// The level above the node is that of DataCutter, which holds DataCutter-Lite's graphs inside its nodes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "penstock/graph.hpp"
#include "penstock/machine.hpp"

namespace penstock {

namespace nodes {
struct ClusterState;
}

/// A node of a cluster died, or could not be had, and the run cannot go on without it.
class NodeDied : public Error {
  public:
    NodeDied(std::string node, const std::string& how, std::vector<std::string> filters, std::uint64_t buffers);
    const std::string& node() const noexcept { return node_; }                     ///< "decoders.2"
    const std::vector<std::string>& filters() const noexcept { return filters_; }  ///< that ran there
    /// That had been sent there and whose results had not come, as far as is known
    std::uint64_t buffers() const noexcept { return buffers_; }

  private:
    std::string node_;
    std::vector<std::string> filters_;
    std::uint64_t buffers_;
};

/// One node, as an engine sees it.
struct Node {
    int site = 0;                  ///< from 1
    std::uint32_t generation = 1;  ///< which agent of it: from 1
    std::string name{};            ///< "decoders.2"
    NodeNeeds needs{};             ///< what it must have
};

/// What starts agents, and knows when they end. One is written for each system that has machines to give.
class Engine {
  public:
    virtual ~Engine() = default;
    /// Starts an agent there, with this text, which holds the cluster's secret: it must travel and be kept so that
    /// nobody else reads it. Returns at once. Throws Error.
    virtual void start(const Node& node, const std::string& invitation) = 0;
    /// Ends that agent, if it still runs.
    virtual void end(const Node& node) noexcept = 0;
    /// The agent of a spare node is that of another one from now on.
    virtual void becomes(const Node& spare, const Node& node) = 0;
    /// To be called when an agent has ended, as soon as it is known; `how` in words. Any thread.
    std::function<void(int site, std::uint32_t generation, const std::string& how)> died{};
};

enum class Encryption {
    tls,   ///< TLS 1.3 by the cluster's secret
    none,  ///< both ends are authenticated when they connect, and nothing is encrypted or protected after that
};

/// Which nodes a cluster has, who starts them, and how long it waits for them.
struct ClusterOptions {
    std::vector<Nodes> nodes{};  ///< groups, by whose names filters are placed
    /// "local": agents are processes of this machine. "hand": people start them, each with the invitation that is
    /// printed (docs/nodes.md).
    std::string engine = "local";
    std::shared_ptr<Engine> own_engine{};  ///< in place of it
    /// Of agents of the engine "local": the program and its arguments. Empty: this program, if it calls
    /// become_agent(), or else `penstock agent`.
    std::vector<std::string> agent{};
    /// Where agents find the program: "tcp:HOST:PORT" (port 0: any) with an address of this machine that they can
    /// reach, or "unix". Empty: "unix" with the engine "local", else a TCP address of this machine.
    std::string listen{};
    /// The address by which agents reach it, where that is another one (a forwarded port). Empty: the same.
    std::string reached_at{};
    Encryption encryption = Encryption::tls;  ///< of wires over TCP
    /// How long a node that does not answer is waited for, before it counts as dead.
    std::chrono::milliseconds patience{15'000};
    /// How long nodes may take to be there.
    std::chrono::milliseconds time_to_start{60'000};
    /// Agents that are started beside the nodes, each of which takes the place of one that has died at once.
    int spares = 0;
    /// A buffer that a filter had in hand when so many nodes died is dropped, and named in Run::lost().
    int deaths_of_a_buffer = 2;
    MachineOptions machine{};       ///< of the program's own part, where it is given none
    MachineOptions node_machine{};  ///< of each agent's: targets, isolation
    /// Is given what agents print, a line each, behind the name of its node; empty: stderr.
    std::function<void(const std::string& line)> log{};
};

/// What goes where when a graph is split over a cluster.
struct Split {
    /// What one node has.
    struct Part {
        std::string node;                  ///< "program", or "decoders.2"
        std::vector<std::string> filters;  ///< "decode.0" for a copy of several
    };
    std::vector<Part> parts;             ///< the program's own first
    std::vector<StreamDescription> cut;  ///< streams between nodes
    std::string text() const;            ///< for people, a line each
};

/// Agents, and the wires to them. Several graphs may run on it, one after the other or at once.
class Cluster {
  public:
    /// Starts the nodes, and waits for them. Throws NodeDied, UsageError, SystemError, OpenSslMissing.
    explicit Cluster(ClusterOptions options);
    /// The program's own part runs on this machine, which must live longer.
    Cluster(Machine& machine, ClusterOptions options);
    ~Cluster();
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    /// The program's own part of the cluster.
    Machine& machine() noexcept;
    /// Nodes, without spares.
    std::vector<Node> nodes() const;
    /// The process of the agent of each node, on its machine. For tests and for who looks.
    struct Agent {
        std::string node;              ///< "decoders.2"
        std::string host;              ///< name of its machine
        int process = 0;               ///< its number there
        std::uint32_t generation = 0;  ///< from 1
    };
    /// Those that run now.
    std::vector<Agent> agents() const;
    /// What would go where. Throws GraphError.
    Split split(const GraphBuilder& graph) const;
    /// Connections to this program that were refused: a wrong secret, an old generation, and others.
    struct Refusals {
        std::uint64_t wrong_secret = 0;    ///< who does not know it
        std::uint64_t old_generation = 0;  ///< agents in whose place another one is
        std::uint64_t others = 0;          ///< garbage, other versions
    };
    /// So far.
    Refusals refused() const;
    /// Times that a node took the place of a dead one.
    std::uint64_t replaced() const;

    /// For the layer itself.
    nodes::ClusterState& state() const noexcept { return *state_; }

  private:
    std::shared_ptr<nodes::ClusterState> state_;
};

/// Makes this process an agent, if a Cluster started it as one: then it does not return. To be called early in main,
/// behind register_component(). A program that calls it is its own agent with the engine "local".
void become_agent();
/// Runs an agent with an invitation (of Engine::start, or as printed by the engine "hand") until the program ends it.
/// What the process is to exit with. Throws UsageError, SystemError.
int run_agent(const std::string& invitation);

}  // namespace penstock
