// The analysis as a graph of filters.
#include "apps/graphs.hpp"
#include "apps/tissue/filters.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::tissue {

void streamed(const Slide& slide, Analysis& analysis, Machine& machine, int copies, std::size_t passes) {
    Graph graph;
    auto& read = graph.add<Read>("read", {}, &slide, passes);
    const Filters filters(graph, read.jpeg, copies, &slide, &analysis);
    auto run = graph.start(machine);
    run.finish();
    note_graph(run);
}

}  // namespace penstock::apps::tissue
