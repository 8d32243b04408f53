// The conversion as a graph of filters.
#include "apps/colour/filters.hpp"
#include "apps/graphs.hpp"
#include "penstock/components.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace penstock::apps::colour {
namespace {

constexpr const char* read_in_words =
    "Cuts a photograph (a file, or a made one) into tiles, one after the other, `passes` times.";
constexpr const char* collect_in_words =
    "Puts tiles together and writes them to a file (.npy), if one is named; at the end, the moments of L*, a* and b*.";

}  // namespace

ChannelStatistics streamed(const Work& work, Machine& machine, int copies, std::size_t passes) {
    ChannelStatistics statistics;
    Graph graph;
    auto& read = graph.add<Read>("read", {}, &work);
    read.times.passes = static_cast<std::int64_t>(passes);
    auto& convert = graph.add<Convert>("convert", {.copies = copies});
    auto& collect = graph.add<Collect>("collect", {}, &work, &statistics);
    graph.connect(read.rgb, convert.rgb);
    graph.connect(convert.lab, collect.lab);
    graph.connect(convert.statistics, collect.statistics);
    run_noted(graph, machine);
    return statistics;
}

ChannelStatistics streamed_in_place(const Work& work, Machine& machine, int copies, std::size_t passes) {
    ChannelStatistics statistics;
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, &work, passes);
    auto& convert = graph.add<ConvertInPlace>("convert", {.copies = copies}, &work);
    auto& collect = graph.add<Collect>("collect", {}, &work, &statistics);
    graph.connect(numbers.tile, convert.tile);
    graph.connect(convert.statistics, collect.statistics);
    run_noted(graph, machine);
    return statistics;
}

void add_components(Components& components) {
    components.add<Read>("colour:read", read_in_words);
    components.add<Collect>("colour:collect", collect_in_words);
}

void add_components(Components& components, const Work& work, ChannelStatistics& statistics) {
    components.add<Read>("colour:read", read_in_words, &work);
    components.add<Collect>("colour:collect", collect_in_words, &work, &statistics);
}

}  // namespace penstock::apps::colour
