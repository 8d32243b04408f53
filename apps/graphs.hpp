// The graph of filters that an application ran last, for reports.
#pragma once

#include <string>

namespace penstock {
class Graph;
class Machine;
class Run;
}  // namespace penstock

namespace penstock::apps {

/// While it lives, note_graph() on the same thread keeps the graph and the figures of a run that has ended. One at a
/// time.
class NotedGraph {
  public:
    NotedGraph() noexcept;
    ~NotedGraph();
    NotedGraph(const NotedGraph&) = delete;
    NotedGraph& operator=(const NotedGraph&) = delete;
    /// The graph noted last, as json_of() writes it; empty when there is none.
    std::string json() const;
};

/// Some tens of microseconds where a NotedGraph waits for it, else nothing: a benchmark that makes a graph for every
/// picture would see it.
void note_graph(const Run& run);
/// Runs a graph to its end, and notes it.
void run_noted(Graph& graph, Machine& machine);

}  // namespace penstock::apps
