// stream layer: what may be asked of a stream and of a filter in a graph.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "penstock/buffer.hpp"
#include "penstock/options.hpp"

namespace penstock {

/// Which of several sinks (copies of a filter, or filters that read the same named stream) gets the next buffer.
enum class Policy {
    demand_driven,  ///< the one with the fewest buffers before it; of brief firings, the writing thread's own copy
    round_robin,    ///< each in turn
    random,         ///< any
    broadcast,      ///< all of them; they share the values, to be read
    by_key,         ///< StreamOptions::key of the buffer: equal keys to the same sink
    chosen,         ///< StreamOptions::key of the buffer is the number of the sink
};

/// What becomes of a buffer for which a sink has no room.
enum class WhenStreamFull {
    wait,         ///< the writer does not fire again before there is room
    drop_oldest,  ///< the buffer that has waited longest at that sink is dropped
    drop_newest,  ///< this one is dropped
    fail,         ///< write() throws StreamFull
};

/// How buffers go from an output to an input.
struct StreamOptions {
    Policy policy = Policy::demand_driven;  ///< which copy gets a buffer
    /// Buffers that may wait at each sink; 0: automatic: 8 to begin with, up to 64 where both ends keep waiting for one
    /// another in turn and that takes no more than a quarter of a target's local store, down to 2 where long queues of
    /// large buffers never run dry. Whatever the number, the third buffer and those behind it wait only where they fit
    /// the local store.
    std::size_t capacity = 0;
    /// Bytes that may wait at each sink, beyond the first buffer; 0: no limit of its own.
    std::size_t capacity_bytes = 0;
    WhenStreamFull when_full = WhenStreamFull::wait;  ///< what happens without room
    /// Sinks see the buffers in the order in which the stream's source filter got or made what they come from, although
    /// copies of the filters in between overtook one another. Buffers that wait for earlier ones do not count against
    /// the capacity.
    bool ordered = false;
    /// The sink may fire right behind the firing that writes, on the same thread and without a queue, where nothing
    /// else waits: the cheapest way, but a filter's turn then lasts as long as the firings that follow its own. Without
    /// a place only sinks of less than a microsecond do.
    bool fuse = true;
    /// This stream closes a cycle on purpose. It ends when everything that leads into the cycle has ended and the cycle
    /// is empty.
    bool feedback = false;
    /// For Policy::by_key and Policy::chosen. Empty: the tag user[0].
    std::function<std::uint64_t(const Tags&, std::span<const std::byte>)> key{};
    /// Streams of one name are one stream with several sources and sinks. Empty: a stream of its own.
    std::string name{};
};

/// What happens when a filter throws, or ends the worker process in which it lives.
enum class OnFailure {
    stop,  ///< the run is stopped, and finish() throws FilterFailed
    /// What it read is lost and counted (statistics: failures); finish() throws FilterFailed for the first at the end
    go_on,
};

/// What a node must have. Engines that manage resources look at it; others do not.
struct NodeNeeds {
    double cpus = 0;
    std::uint64_t memory = 0;  ///< bytes
    std::map<std::string, double> resources{};
    friend bool operator==(const NodeNeeds&, const NodeNeeds&) = default;
};

/// A group of nodes, to which filters go by FilterOptions::nodes.
struct Nodes {
    std::string name;
    int count = 1;
    NodeNeeds needs{};
    friend bool operator==(const Nodes&, const Nodes&) = default;
};

/// What happens when a node of a cluster dies on which copies of a filter run (docs/nodes.md).
enum class OnNodeLoss {
    stop,  ///< the run is stopped, and finish() throws NodeDied
    /// Another node takes its place. Buffers that were there are lost, counted and named (Run::lost).
    lose,
    /// Another node takes its place, and what was there is sent again: nothing is lost or repeated. For filters that
    /// may be copied and have no state, one input and one output: a firing may run twice, and its result is delivered
    /// once.
    replay,
};

/// How a filter runs.
struct FilterOptions {
    /// As many copies as the pressure at the filter asks for: from one to one for each target and one more, for the
    /// thread that helps while it waits for the run; for placed filters and in worker processes, to one for each of
    /// their targets. It begins with the most. They come while all of them could fire with what waits for them and
    /// threads (workers) have nothing to do, and go while they have nothing to do themselves, of a filter without a
    /// place only while threads (workers) have nothing to do either: at most one change in 20 ms, by an edit, which
    /// holds those who write to the filter for a moment. The number stays at the most in cycles,
    /// on targets of several classes, where a stream that the filter reads is not `demand_driven` or `random`, and
    /// where a copy that goes could leave a buffer behind: a filter that waits for buffers at several inputs, or for
    /// several at one, while their order is restored further down or others get the same buffers.
    static constexpr int automatic = 0;
    /// Copies that may fire at the same time. More than one only for filters that say `may_be_copied`.
    int copies = 1;
    /// Targets whose threads alone run it, copy by copy in turn; empty: whichever is free.
    std::vector<int> targets{};
    /// Names of classes of targets (MachineOptions::classes) that may run it, copy by copy in turn; excludes `targets`
    /// and `near`. With automatic copies there is one for each target of several classes. Which copy gets a buffer is
    /// decided by how long firings last on each: where it would be done first.
    std::vector<std::string> target_classes{};
    /// The name of a filter whose targets it shares; excludes `targets`.
    std::string near{};
    OnFailure on_failure = OnFailure::stop;  ///< what an exception in a firing does
    /// Buffers of each of its outputs that exist at once before it waits for one to come back; 0: no limit beyond the
    /// streams' own.
    std::size_t pool = 0;
    /// On worker processes: a firing that takes longer is ended with its process (WorkerDied). A millisecond to 27
    /// minutes; 0: the machine's limit.
    std::chrono::nanoseconds time_limit{0};
    /// Where it lives; unset: as the machine's targets are. `process`: in a worker process; a machine whose targets are
    /// threads refuses the graph. `none`: in the program, also where the targets are worker processes: there one of the
    /// threads that wait for the run, or the run's own, fires it, and it has no targets.
    std::optional<Isolation> isolation{};

    /// How the events of its event outputs are called: pairs of an output and a name; an empty name: they are not sent.
    /// Those of an output that is not named here are called as the output.
    std::vector<std::pair<std::string, std::string>> events{};

    /// For `nodes`: the runtime chooses, by a profile.
    static constexpr const char* any_nodes = "auto";
    /// The name of a group of nodes that runs the copies in turn (Cluster); empty: the program does. "auto": a group or
    /// the program, as Cluster::place() or RunOptions::profile has it.
    std::string nodes{};
    OnNodeLoss on_node_loss = OnNodeLoss::stop;

    /// Is it known what became of each buffer that was sent to it?
    bool tracked() const noexcept { return on_node_loss != OnNodeLoss::stop; }
    /// Only a machine whose targets are worker processes can run it.
    bool needs_process() const noexcept { return isolation == Isolation::process || time_limit.count() != 0; }
    /// It fires in the program, wherever the targets are.
    bool stays_in_program() const noexcept { return isolation == Isolation::none; }
    friend bool operator==(const FilterOptions&, const FilterOptions&) = default;
};

/// How a graph runs.
struct RunOptions {
    /// Under this name other processes of the same user can look at the run and send events to it: `penstock top`,
    /// `draw` and `send`. It costs a thread that sleeps until somebody asks. Empty: what the environment's
    /// PENSTOCK_NAME says, and when that is not set or empty, nobody can. PENSTOCK_NAME=auto: the name of the program
    /// and the number of the process.
    std::string name{};
    /// What an earlier run was like (ApplicationProfile::text()): by it a cluster places filters whose `nodes` is
    /// "auto", as Cluster::place() does.
    std::string profile{};
};

}  // namespace penstock
