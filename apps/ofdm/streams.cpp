// The receiver as a graph of filters, described here and written down (ofdm.xml), and the filters by name.
#include "apps/graphs.hpp"
#include "apps/ofdm/filters.hpp"
#include "apps/written.hpp"
#include "penstock/components.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace penstock::apps::ofdm {
namespace {

void add_stages(Components& components) {
    components.add<Gain>("ofdm:gain", "Multiplies samples.");
    components.add<Air>("ofdm:channel", "A radio channel: echoes, an offset of the frequency, noise.");
    components.add<Save>("ofdm:save", "Samples into a file (.cf32, .cs16, .cu8).");
    components.add<Synchronise>("ofdm:synchronise",
                                "Finds frames in samples, and writes their symbols, piece by piece, as they come.");
    components.add<Demodulate>("ofdm:demodulate",
                               "Symbols to soft bits: Fourier transform, equaliser, pilots, constellation.");
    components.add<Decode>("ofdm:decode", "Soft bits to frames: Viterbi, scrambler, check sequence.");
}

}  // namespace

void streamed(const Problem& problem, Machine& machine, int copies, std::size_t portion) {
    Graph graph;
    auto& read = graph.add<Read>("read", {}, &problem);
    read.portion = static_cast<int>(portion);
    auto& synchronise = graph.add<Synchronise>("synchronise");
    synchronise.size.size = static_cast<int>(problem.format.size);
    auto& demodulate = graph.add<Demodulate>("demodulate", {.copies = copies});
    auto& decode = graph.add<Decode>("decode", {.copies = copies});
    auto& collect = graph.add<Collect>("collect", {}, &problem);
    graph.connect(read.samples, synchronise.samples);
    graph.connect(synchronise.pieces, demodulate.pieces, {.policy = Policy::by_key});
    graph.connect(synchronise.symbols, demodulate.symbols, {.policy = Policy::by_key});
    graph.connect(demodulate.out, decode.in, {.policy = Policy::by_key});
    graph.connect(decode.out, collect.frames);
    run_noted(graph, machine);
}

void written(const Problem& problem, Machine& machine, int copies) {
    auto components = silent_components();
    add_components(components, problem);
    ApplicationOptions options;
    options.components = &components;
    options.settings = {{"copies", std::to_string(copies)}, {"size", std::to_string(problem.format.size)}};
    auto run = application("ofdm", options).start(machine);
    run.finish();
    note_graph(run.run());
}

void add_components(Components& components) {
    add_stages(components);
    components.add<Read>("ofdm:read", "Samples from a file or a socket, or of a made signal.");
    components.add<Collect>("ofdm:collect", "Frames in their order, into a capture (.pcap); counts them.");
}

void add_components(Components& components, const Problem& problem) {
    add_stages(components);
    components.add<Read>("ofdm:read", "The program's samples.", &problem);
    components.add<Collect>("ofdm:collect", "Frames into the program's memory.", &problem);
}

}  // namespace penstock::apps::ofdm
