#include "apps/graphs.hpp"

#include <optional>

#include "penstock/run.hpp"

namespace penstock::apps {
namespace {

struct Noted {
    GraphDescription graph;
    RunStatistics figures;
};
thread_local bool wanted = false;
thread_local std::optional<Noted> noted;

}  // namespace

NotedGraph::NotedGraph() noexcept { wanted = true; }

NotedGraph::~NotedGraph() {
    wanted = false;
    noted.reset();
}

std::string NotedGraph::json() const { return noted ? json_of(noted->graph, &noted->figures) : std::string(); }

void note_graph(const Run& run) {
    if (wanted) noted = Noted{run.description(), run.statistics()};
}

void run_noted(Graph& graph, Machine& machine) {
    auto run = graph.start(machine);
    run.finish();
    note_graph(run);
}

}  // namespace penstock::apps
