// stream layer: what a run has done so far, filter by filter and stream by stream, and the graph as a drawing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

/// All copies of a filter together.
struct FilterStatistics {
    std::string name;            ///< the filter's
    int copies = 0;              ///< that run now
    std::uint64_t firings = 0;   ///< since the run began
    std::uint64_t failures = 0;  ///< firings that threw
    /// Buffers that were sent to it and never read, or that it wrote and nobody was there any more to read
    std::uint64_t dropped = 0;
    std::uint64_t lost = 0;        ///< buffers that went with a worker process
    std::uint64_t made_again = 0;  ///< times that its object went with a worker process
    std::uint64_t waiting = 0;     ///< buffers at its inputs now
    std::uint64_t held_back = 0;   ///< buffers that it has written and that no sink has room for, now
    double rate = 0;               ///< firings a second
    double service_us = 0;         ///< a firing, on average over those that were timed (one in 64); 0: none was
    double load = 0;               ///< of one processor, for each copy: rate times service
    // Shares of the time since the run began, over the copies; for filters whose firings take a microsecond or more,
    // else 0.
    double waits_for_input = 0;   ///< nothing to read
    double waits_for_output = 0;  ///< room in a stream, or a buffer of its own pool
    double waits_for_target = 0;  ///< it could fire, and no target was free
};

/// A buffer that went with the worker process that had it: in the firing that ended the process, or kept by a filter
/// that lived there too.
struct LostBuffer {
    std::string filter;          ///< that had it
    int copy = 0;                ///< of that filter
    std::uint64_t firing = 0;    ///< of that copy, from 0
    std::string port;            ///< the input by which it came
    std::uint64_t sequence = 0;  ///< its tag
    std::uint64_t written = 0;   ///< its number among those that its writer wrote there, from 0
    friend bool operator==(const LostBuffer&, const LostBuffer&) = default;
};

/// One stream.
struct StreamStatistics {
    std::string from;           ///< "filter.port"
    std::string to;             ///< likewise
    std::uint64_t buffers = 0;  ///< that have arrived
    /// Of these, those that were posted to another thread, or to a filter without a place, which any thread may run.
    /// The others never left the target on which both filters are placed, or were handed on `right_behind`.
    std::uint64_t posted = 0;
    /// Of these, those that went into no queue: by pointer to the sink, which fired right behind the firing that wrote
    /// them, on the same thread
    std::uint64_t right_behind = 0;
    std::uint64_t dropped = 0;  ///< for lack of room
    double rate = 0;            ///< buffers a second
    double bytes_rate = 0;      ///< bytes a second
    double capacity = 0;        ///< buffers that may wait at each sink now, on average over the sinks
};

/// A run up to now.
struct RunStatistics {
    double seconds = 0;                     ///< since it began
    std::vector<FilterStatistics> filters;  ///< in the order of the graph
    std::vector<StreamStatistics> streams;  ///< likewise
    /// The filter with the highest load for each copy: who wants the whole to go faster begins there. Empty when
    /// nothing was timed yet.
    std::string bottleneck;
    std::uint64_t lost = 0;  ///< the same as `dropped`, of filters that edits have taken out

    /// A table for people.
    std::string text() const;
};

/// What one node has done of a run, as it has measured it itself.
struct NodeStatistics {
    std::string node;              ///< "program", or "decoders.2"
    std::uint32_t generation = 1;  ///< which agent of it
    std::string lost{};            ///< how it was lost while the run went on; then `figures` are what it said last
    RunStatistics figures{};       ///< of the copies there
};

struct GraphDescription;

/// The graph in the language of graphviz (`dot -Tsvg`), with its figures where there are some: groups as boxes around
/// their filters, the bottleneck marked.
std::string drawing_of(const GraphDescription& graph, const RunStatistics* figures = nullptr);
/// The same for programs, one JSON object: "filters" and "streams" with their options and, where there are figures,
/// "statistics", named as in these headers; "seconds", "bottleneck" and "lost"; "drawing", which is drawing_of().
std::string json_of(const GraphDescription& graph, const RunStatistics* figures = nullptr);
/// Writes that to a file, for `penstock draw`. Throws SystemError.
void save_graph(const std::string& path, const GraphDescription& graph, const RunStatistics* figures = nullptr);

}  // namespace penstock
