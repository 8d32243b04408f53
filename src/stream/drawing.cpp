// A graph as a drawing, in the language of graphviz.
#include <iomanip>
#include <sstream>

#include "penstock/graph.hpp"
#include "penstock/stream_statistics.hpp"

namespace penstock {
namespace {

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') result += '\\';
        result += letter;
    }
    return result + "\"";
}

std::string filter_of(const std::string& port) { return port.substr(0, port.rfind('.')); }
std::string port_of(const std::string& port) { return port.substr(port.rfind('.') + 1); }

std::string rate_of(double rate) {
    std::ostringstream text;
    text << std::setprecision(3);
    if (rate >= 1e6) text << rate / 1e6 << " M/s";
    else if (rate >= 1e3) text << rate / 1e3 << " k/s";
    else text << rate << " /s";
    return text.str();
}

const char* text_of(Policy policy) {
    switch (policy) {
        case Policy::demand_driven: return "demand driven";
        case Policy::round_robin: return "round robin";
        case Policy::random: return "random";
        case Policy::broadcast: return "broadcast";
        case Policy::by_key: return "by key";
        case Policy::chosen: return "chosen";
    }
    return "";
}

}  // namespace

std::string drawing_of(const GraphDescription& graph, const RunStatistics* figures) {
    std::ostringstream text;
    text << "digraph penstock {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"sans-serif\"];\n"
            "  edge [fontname=\"sans-serif\", fontsize=10];\n";
    for (const auto& filter : graph.filters) {
        std::ostringstream label;
        label << filter.name;
        if (filter.options.copies == FilterOptions::automatic) label << " x auto";
        else if (filter.options.copies != 1) label << " x " << filter.options.copies;
        const char* color = "white";
        if (figures != nullptr)
            for (const auto& each : figures->filters)
                if (each.name == filter.name) {
                    label << "\\n" << rate_of(each.rate) << std::setprecision(3) << ", " << each.service_us << " us";
                    if (each.name == figures->bottleneck) color = "mistyrose";
                }
        auto shown = quoted(label.str());
        for (std::size_t at = 0; (at = shown.find("\\\\n", at)) != shown.npos;) shown.replace(at, 3, "\\n");
        text << "  " << quoted(filter.name) << " [label=" << shown << ", fillcolor=" << color << "];\n";
    }
    for (const auto& stream : graph.streams) {
        std::string label = port_of(stream.from) + " - " + port_of(stream.to);
        if (stream.options.policy != Policy::demand_driven) label += std::string(", ") + text_of(stream.options.policy);
        if (stream.options.ordered) label += ", ordered";
        if (figures != nullptr)
            for (const auto& each : figures->streams)
                if (each.from == stream.from && each.to == stream.to) label += ", " + rate_of(each.rate);
        text << "  " << quoted(filter_of(stream.from)) << " -> " << quoted(filter_of(stream.to)) << " [label=" << quoted(label)
             << (stream.options.feedback ? ", style=dashed" : "") << "];\n";
    }
    text << "}\n";
    return text.str();
}

}  // namespace penstock
