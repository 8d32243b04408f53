// The analysis as a graph of filters.
#include "apps/graphs.hpp"
#include "apps/tissue/filters.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::tissue {

void streamed(const Slide& slide, Analysis& analysis, Machine& machine, int copies, std::size_t passes) {
    Graph graph;
    auto& read = graph.add<Read>("read", {}, &slide, passes);
    auto& decode = graph.add<Decode>("decode", {.copies = copies});
    auto& colour = graph.add<Colour>("colour", {.copies = copies});
    auto& pattern = graph.add<Pattern>("pattern", {.copies = copies});
    auto& shrink = graph.add<Shrink>("shrink", {.copies = copies});
    auto& classify = graph.add<Classify>("classify");
    auto& overview = graph.add<Overview>("overview", {}, &slide, &analysis);
    graph.connect(read.jpeg, decode.jpeg);
    graph.connect(decode.rgb, colour.rgb);
    graph.connect(decode.rgb, pattern.rgb);
    graph.connect(decode.rgb, shrink.rgb);
    graph.connect(colour.features, classify.colour, {.ordered = true});
    graph.connect(pattern.features, classify.pattern, {.ordered = true});
    graph.connect(shrink.small, overview.small);
    graph.connect(classify.verdict, overview.verdict);
    auto run = graph.start(machine);
    run.finish();
    note_graph(run);
}

}  // namespace penstock::apps::tissue
