// The analysis as a graph of filters, and these by name.
#include "apps/graphs.hpp"
#include "apps/tissue/filters.hpp"
#include "penstock/components.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace penstock::apps::tissue {

Output<std::uint8_t>& add_tiles(Graph& graph, const Slide& slide, int copies, std::size_t passes) {
    if (slide.decoded()) return graph.add<ReadPixels>("read", {}, &slide, passes).rgb;
    auto& read = graph.add<Read>("read", {}, &slide);
    read.times.passes = static_cast<std::int64_t>(passes);
    auto& decode = graph.add<Decode>("decode", {.copies = copies});
    graph.connect(read.jpeg, decode.jpeg);
    return decode.rgb;
}

void streamed(const Slide& slide, Analysis& analysis, Machine& machine, int copies, std::size_t passes) {
    Graph graph;
    Output<std::uint8_t>& rgb = add_tiles(graph, slide, copies, passes);
    auto& colour = graph.add<Colour>("colour", {.copies = copies});
    auto& pattern = graph.add<Pattern>("pattern", {.copies = copies});
    auto& shrink = graph.add<Shrink>("shrink", {.copies = copies});
    auto& classify = graph.add<Classify>("classify");
    auto& overview = graph.add<Overview>("overview", {}, &slide, &analysis);
    graph.connect(rgb, colour.rgb);
    graph.connect(rgb, pattern.rgb);
    graph.connect(rgb, shrink.rgb);
    graph.connect(colour.features, classify.colour, {.ordered = true});
    graph.connect(pattern.features, classify.pattern, {.ordered = true});
    graph.connect(shrink.small, overview.small);
    graph.connect(classify.verdict, overview.verdict);
    run_noted(graph, machine);
}

void add_stages(Components& components) {
    components.add<Classify>("tissue:classify",
                             "Tells from both parts of a tile's features whether it is background, stroma or stained.");
}

void add_components(Components& components) {
    add_stages(components);
    components.add<Read>(
        "tissue:read",
        "Cuts a picture (a file, or a made one) into JPEG tiles and writes one after the other, `passes` times.");
    components.add<Overview>(
        "tissue:overview",
        "The picture small, each tile in the colour of its class, as a file; and, as files, what was found.");
    components.add<Count>("tissue:count", "Takes verdicts in the overview's place, and forgets them.");
    components.add<Compare>("tissue:compare",
                            "Takes verdicts beside the overview; a program may give it others to compare them with.");
}

void add_components(Components& components, const Slide& slide, Analysis& analysis) {
    add_stages(components);
    components.add<Read>("tissue:read", "The program's slide.", &slide);
    components.add<Overview>("tissue:overview", "The program's analysis.", &slide, &analysis);
    components.add<Count>("tissue:count", "Forgets verdicts.");
    components.add<Compare>("tissue:compare", "Forgets verdicts.");
}

}  // namespace penstock::apps::tissue
