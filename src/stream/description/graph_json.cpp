// A graph and its figures as JSON, for programs that look at it.
#include <fstream>
#include <map>

#include "machine/file_size.hpp"
#include "penstock/graph.hpp"
#include "penstock/stream_statistics.hpp"
#include "stream/description/option_names.hpp"
#include "trace/text.hpp"

namespace penstock {
namespace {

using streaming::name_of;
using streaming::Spelt;
using trace::exact;
using trace::json_text;

const char* text_of(bool value) { return value ? "true" : "false"; }

std::string list(const auto& all, const auto& text_of) { return "[" + trace::list_of(all, ",", text_of) + "]"; }

std::string text_of(const PortDescription& port) {
    return "{\"name\":" + json_text(port.name) + ",\"type\":" + json_text(port.element.name) + "}";
}

std::string figures_of(const FilterStatistics& figures) {
    std::string text = "{\"copies\":" + std::to_string(figures.copies);
    for (const auto& [name, count] : {std::pair{"firings", figures.firings},
                                      {"failures", figures.failures},
                                      {"dropped", figures.dropped},
                                      {"waiting", figures.waiting},
                                      {"held_back", figures.held_back}})
        text += ",\"" + std::string(name) + "\":" + std::to_string(count);
    for (const auto& [name, value] : {std::pair{"rate", figures.rate},
                                      {"service_us", figures.service_us},
                                      {"load", figures.load},
                                      {"waits_for_input", figures.waits_for_input},
                                      {"waits_for_output", figures.waits_for_output},
                                      {"waits_for_target", figures.waits_for_target}})
        text += ",\"" + std::string(name) + "\":" + exact(value);
    return text + "}";
}

std::string figures_of(const StreamStatistics& figures) {
    return "{\"buffers\":" + std::to_string(figures.buffers) + ",\"dropped\":" + std::to_string(figures.dropped) +
           ",\"rate\":" + exact(figures.rate) + ",\"bytes_rate\":" + exact(figures.bytes_rate) +
           ",\"capacity\":" + exact(figures.capacity) + "}";
}

std::string text_of(const FilterDescription& filter, const FilterStatistics* figures) {
    const auto ports_of = [](const auto& all) { return list(all, [](const auto& port) { return text_of(port); }); };
    std::string text = "{\"name\":" + json_text(filter.name) + ",\"type\":" + json_text(filter.type) +
                       ",\"copies\":" + std::to_string(filter.options.copies) + ",\"targets\":" +
                       list(filter.options.targets, [](int target) { return std::to_string(target); }) +
                       ",\"near\":" + json_text(filter.options.near) + ",\"of_program\":" + text_of(filter.of_program) +
                       ",\"inputs\":" + ports_of(filter.inputs) + ",\"outputs\":" + ports_of(filter.outputs);
    if (figures != nullptr) text += ",\"statistics\":" + figures_of(*figures);
    return text + "}";
}

std::string text_of(const StreamDescription& stream, const StreamStatistics* figures) {
    const auto& options = stream.options;
    std::string text = "{\"from\":" + json_text(stream.from) + ",\"to\":" + json_text(stream.to) +
                       ",\"name\":" + json_text(options.name) +
                       ",\"policy\":" + json_text(name_of(options.policy, Spelt<streaming::policy_names, ' '>::words)) +
                       ",\"capacity\":" + std::to_string(options.capacity) +
                       ",\"capacity_bytes\":" + std::to_string(options.capacity_bytes) + ",\"when_full\":" +
                       json_text(name_of(options.when_full, Spelt<streaming::when_full_names, ' '>::words)) +
                       ",\"ordered\":" + text_of(options.ordered) + ",\"feedback\":" + text_of(options.feedback) +
                       ",\"fuse\":" + text_of(options.fuse);
    if (figures != nullptr) text += ",\"statistics\":" + figures_of(*figures);
    return text + "}";
}

}  // namespace

std::string json_of(const GraphDescription& graph, const RunStatistics* figures) {
    std::map<std::string, const FilterStatistics*> of_filter;
    std::map<std::pair<std::string, std::string>, const StreamStatistics*> of_stream;
    std::string text = "{";
    if (figures != nullptr) {
        for (const auto& each : figures->filters) of_filter[each.name] = &each;
        for (const auto& each : figures->streams) of_stream[{each.from, each.to}] = &each;
        text += "\"seconds\":" + exact(figures->seconds) + ",\"bottleneck\":" + json_text(figures->bottleneck) +
                ",\"lost\":" + std::to_string(figures->lost) + ",";
    }
    const auto filter_text = [&](const auto& filter) { return text_of(filter, of_filter[filter.name]); };
    const auto stream_text = [&](const auto& stream) { return text_of(stream, of_stream[{stream.from, stream.to}]); };
    return text + "\"filters\":" + list(graph.filters, filter_text) +
           ",\"streams\":" + list(graph.streams, stream_text) +
           ",\"drawing\":" + json_text(drawing_of(graph, figures)) + "}";
}

void save_graph(const std::string& path, const GraphDescription& graph, const RunStatistics* figures) {
    const WithinFileSize limited;
    errno = 0;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << json_of(graph, figures) << '\n';
    file.close();
    if (!file) throw SystemError("cannot write the graph to '" + path + "'", errno != 0 ? errno : EIO);
}

}  // namespace penstock
