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
#include <optional>
#include <string>
#include <vector>

#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/stream_statistics.hpp"
#include "penstock/trace.hpp"

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

/// PMIx, by which processes of mpirun and srun find one another, is not there.
class PmixMissing : public Error {
  public:
    using Error::Error;
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
    /// Can it start an agent in a dead one's place? Where not, only spares can take one.
    virtual bool starts_others() const noexcept { return true; }
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
    /// printed. "pmix": the other processes of a job of mpirun or srun, in the order of their ranks (docs/nodes.md).
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
    MachineOptions node_machine{};  ///< of each agent's: targets, isolation, pin (not with "local")
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

/// What is asked of a placement by a profile.
struct PlaceOptions {
    /// No group may have more than this many times its share of the work: as it has of the processors. 1 or more; 0:
    /// a tenth more than the least that can be had.
    double balance = 0;
    /// Processors of the program's own part; 0: one for each target of its machine, and one. A group has its nodes'
    /// `cpus`; where it says none, those of `ClusterOptions::node_machine`, or as many a node as the program.
    double program_cpus = 0;
};

/// Where the runtime would have filters run, by a profile (Cluster::place).
struct Assignment {
    /// One filter of the graph.
    struct Place {
        std::string filter;
        std::string nodes;  ///< the group; empty: the program
        std::string why{};  ///< it could be nowhere else; empty: it was chosen
        double load = 0;    ///< processors that it kept busy, all copies together
    };
    /// What one group of nodes has to do.
    struct Share {
        std::string nodes;            ///< the group, or "program"
        double load = 0;              ///< processors that its filters kept busy
        double cpus = 0;              ///< processors that it has
        double ratio = 0;             ///< its busiest node's work over its share of all work: 1 is even
        double memory = 0;            ///< bytes of buffers that may wait at each node's filters
        std::uint64_t of_memory = 0;  ///< bytes that each node has; 0: not said
    };
    /// A stream between nodes.
    struct Cut {
        std::string from;       ///< "filter.port"
        std::string to;         ///< likewise
        double bytes_rate = 0;  ///< bytes a second that cross, by the profile
    };
    std::vector<Place> filters;  ///< in the order of the graph
    std::vector<Share> shares;   ///< the program's first
    std::vector<Cut> cut;        ///< in the order of the graph
    double bytes_rate = 0;       ///< of all of `cut`
    double balance = 0;          ///< the highest ratio
    bool best = false;           ///< fewer bytes cannot be had; else: none was found with fewer

    /// For people, a line each.
    std::string text() const;
    /// The graph's filters get their `nodes`. Throws UsageError where it has none of such a name, or runs.
    void apply(GraphBuilder& graph) const;
};

/// No placement keeps to what was asked.
class NoPlacement : public Error {
  public:
    enum class Bound {
        balance,  ///< PlaceOptions::balance
        memory,   ///< NodeNeeds::memory of a group
        rules,    ///< what may run where
    };
    NoPlacement(Bound bound, double least, const std::string& what);
    Bound bound() const noexcept { return bound_; }
    /// The balance that can be had, where that binds; else 0
    double least() const noexcept { return least_; }

  private:
    Bound bound_;
    double least_;
};

/// The counters of all threads of a cluster, as each node has measured its own (Machine::snapshot). `after - before` is
/// where the time went between the two.
struct ClusterSnapshot {
    /// Those of the program, or of one node.
    struct Part {
        std::string node;                           ///< "program", or "decoders.2"
        std::uint32_t generation = 1;               ///< which agent of it
        std::optional<trace::Snapshot> counters{};  ///< on its own clock; empty: `note` says why
        /// Why there are none ("it is lost: ..."), or that they are those of an agent that took a lost one's place
        std::string note{};
    };
    std::vector<Part> parts{};  ///< the program's first, then all nodes in their order, also lost ones, without spares

    /// A node that has another agent by now has what that one did since it began. Throws UsageError as snapshots of a
    /// machine do.
    friend ClusterSnapshot operator-(const ClusterSnapshot& after, const ClusterSnapshot& before);

    /// For a terminal: a section for each node, below its name, as trace::table().
    std::string table() const;
    /// For programs: {"nodes": [{"node", "generation", "note", "breakdown": as trace::json(), or null}]}.
    std::string json() const;
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
    /// Where filters with nodes = "auto" should run, so that the fewest bytes go between nodes and no group has more
    /// than its share of the work; the others are where they are. `profile`: ApplicationProfile::text() of a run of the
    /// graph, on one machine or several. Milliseconds; up to a second for the exact answer on about 20 filters.
    /// Throws GraphError, UsageError, NoPlacement.
    Assignment place(const GraphBuilder& graph, const std::string& profile, const PlaceOptions& options = {}) const;
    /// By the figures of a run so far.
    Assignment place(const GraphBuilder& graph, const RunStatistics& profile, const PlaceOptions& options = {}) const;
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

    /// Starts the full timeline here and on all nodes (Machine::start_timeline); nodes that come later join it. Throws
    /// UsageError.
    void start_timeline(std::size_t events = trace::Timeline::default_capacity);
    void stop_timeline();
    /// As Machine::timeline_json(), with a group of tracks for each node, on the program's clock; a node's label says
    /// within what. Nodes that do not answer are left out.
    std::string timeline_json() const;
    /// All counters now, of the program and of each node: where the time of threads went. Waits for the nodes' answers,
    /// at most for ClusterOptions::patience; a node that is lost, or does not answer, is there with a note.
    ClusterSnapshot snapshot() const;

    /// For the layer itself.
    nodes::ClusterState& state() const noexcept { return *state_; }

  private:
    std::shared_ptr<nodes::ClusterState> state_;
};

/// Makes this process an agent, if a Cluster started it as one: then it does not return. To be called early in main,
/// behind register_component(). A program that calls it is its own agent with the engine "local".
void become_agent();
/// The same, and with "pmix" each process of a job of mpirun or srun but the first becomes an agent, for the first's
/// Cluster with the engine "pmix". Outside such a job nothing happens. Throws UsageError for other engines.
void become_agent(const std::string& engine);
/// Runs an agent with an invitation (of Engine::start, or as printed by the engine "hand") until the program ends it.
/// What the process is to exit with. Throws UsageError, SystemError.
int run_agent(const std::string& invitation);

}  // namespace penstock
