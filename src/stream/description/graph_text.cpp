// A graph with its figures as texts: as a drawing, in the language of graphviz, and as JSON, for programs that look at
// it.
#include <cmath>
#include <fstream>
#include <locale>
#include <map>
#include <sstream>

#include "machine/file_size.hpp"
#include "stream/description/graph_json.hpp"
#include "stream/description/option_names.hpp"
#include "trace/text.hpp"

namespace penstock {
namespace {

using streaming::name_of;
using streaming::Spelt;
using trace::dot_text;
using trace::exact;
using trace::json_text;
using trace::list_of;

// ---- as a drawing ----

constexpr double share_worth_showing = 0.01;

/// "2.5 kB" for 2500 and "B": three digits, and the unit with a prefix.
std::string short_number(double value, const std::string& unit) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text.precision(3);
    for (const auto& [factor, prefix] :
         std::array<std::pair<double, const char*>, 3>{{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}}})
        if (value >= 0.9995 * factor) {
            text << value / factor << prefix << unit;
            return text.str();
        }
    text << value << ' ' << unit;
    return text.str();
}

/// Lines below one another, as one label.
std::string label_of(const std::vector<std::string>& lines) { return dot_text(list_of(lines, "\n")); }

std::string filter_of(const std::string& port) { return port.substr(0, port.rfind('.')); }
std::string port_of(const std::string& port) { return port.substr(port.rfind('.') + 1); }
std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

/// Null where there are no figures, or none for which `test` holds.
template <class Each>
const Each* find(const RunStatistics* figures, std::vector<Each> RunStatistics::* all, const auto& test) {
    if (figures == nullptr) return nullptr;
    const auto found = std::ranges::find_if(figures->*all, test);
    return found == (figures->*all).end() ? nullptr : &*found;
}

std::string title_of(const FilterDescription& filter, const FilterStatistics* figures) {
    auto title = filter.name.substr(filter.name.rfind('/') + 1);
    if (figures != nullptr && figures->copies > 1) title += " x " + std::to_string(figures->copies);
    else if (figures == nullptr && filter.options.copies == FilterOptions::automatic) title += " x (as many as needed)";
    else if (figures == nullptr && filter.options.copies != 1) title += " x " + std::to_string(filter.options.copies);
    return title;
}

std::string place_of(const FilterDescription& filter) {
    if (!filter.options.near.empty()) return "near " + filter.options.near;
    const auto& targets = filter.options.targets;
    if (targets.empty()) return "";
    return (targets.size() == 1 ? "target " : "targets ") +
           list_of(targets, ", ", [](int target) { return std::to_string(target); });
}

/// What a filter did and where its time went.
void add_figures(std::vector<std::string>& lines, const FilterStatistics& figures) {
    auto speed = short_number(figures.rate, "/s");
    if (figures.service_us > 0)
        speed += ", " + trace::duration(figures.service_us / 1e6) + " each, load " + percent(figures.load);
    lines.push_back(speed);
    std::vector<std::string> waits;
    for (const auto& [share, what] : {std::pair{figures.waits_for_input, "input"},
                                      {figures.waits_for_output, "output"},
                                      {figures.waits_for_target, "a target"}})
        if (share >= share_worth_showing) waits.push_back(std::string(what) + ' ' + percent(share));
    if (!waits.empty()) lines.push_back("waits for " + list_of(waits, ", "));
    std::vector<std::string> counts;
    for (const auto& [count, what] : {std::pair{figures.waiting, "wait here"},
                                      {figures.held_back, "held back"},
                                      {figures.failures, "failed"},
                                      {figures.dropped, "dropped"}})
        if (count != 0) counts.push_back(std::to_string(count) + ' ' + what);
    if (!counts.empty()) lines.push_back(list_of(counts, ", "));
}

void draw_filter(std::ostream& out, const std::string& indent, const FilterDescription& filter,
                 const RunStatistics* all) {
    const auto* const figures =
        find(all, &RunStatistics::filters, [&](const auto& each) { return each.name == filter.name; });
    std::vector<std::string> lines{title_of(filter, figures)};
    if (auto place = place_of(filter); !place.empty()) lines.push_back(std::move(place));
    if (filter.of_program) lines.push_back("the program");
    else if (figures != nullptr) add_figures(lines, *figures);
    const bool bottleneck = all != nullptr && all->bottleneck == filter.name;
    if (bottleneck) lines.push_back("BOTTLENECK");
    out << indent << dot_text(filter.name) << " [label=" << label_of(lines);
    if (filter.of_program) out << ", shape=ellipse";
    if (bottleneck) out << ", fillcolor=mistyrose, color=firebrick, penwidth=2";
    out << "];\n";
}

/// Filters in groups, by the parts of their names.
struct Group {
    std::map<std::string, Group> groups{};
    std::vector<const FilterDescription*> filters{};

    void add(const FilterDescription& filter) {
        Group* group = this;
        std::size_t begin = 0;
        for (auto end = filter.name.find('/'); end != filter.name.npos;
             begin = end + 1, end = filter.name.find('/', begin))
            group = &group->groups[filter.name.substr(begin, end - begin)];
        group->filters.push_back(&filter);
    }
    void draw(std::ostream& out, const std::string& path, const std::string& indent,
              const RunStatistics* figures) const {
        for (const auto* const filter : filters) draw_filter(out, indent, *filter, figures);
        for (const auto& [name, group] : groups) {
            out << indent << "subgraph " << dot_text("cluster " + path + name) << " {\n"
                << indent << "  label=" << dot_text(name)
                << "; style=\"rounded,dashed\"; color=gray50; fontcolor=gray30; fontname=\"sans-serif\";\n";
            group.draw(out, path + name + "/", indent + "  ", figures);
            out << indent << "}\n";
        }
    }
};

void draw_stream(std::ostream& out, const StreamDescription& stream, const RunStatistics* all) {
    const auto& options = stream.options;
    std::vector<std::string> said;
    if (!options.name.empty()) said.push_back("\"" + options.name + "\"");
    if (options.policy != Policy::demand_driven)
        said.emplace_back(name_of(options.policy, Spelt<streaming::policy_names, ' '>::words));
    if (options.capacity != 0) said.push_back("room for " + std::to_string(options.capacity));
    if (options.capacity_bytes != 0)
        said.push_back("for " + short_number(static_cast<double>(options.capacity_bytes), "B"));
    if (options.when_full != WhenStreamFull::wait)
        said.push_back(
            std::string("full: ").append(name_of(options.when_full, Spelt<streaming::when_full_names, ' '>::words)));
    if (options.ordered) said.emplace_back("ordered");
    if (options.feedback) said.emplace_back("feedback");
    std::vector<std::string> lines{port_of(stream.from) + " - " + port_of(stream.to)};
    if (!said.empty()) lines.push_back(list_of(said, ", "));
    const auto* const figures = find(all, &RunStatistics::streams, [&](const auto& each) {
        return each.from == stream.from && each.to == stream.to;
    });
    if (figures != nullptr) {
        lines.push_back(short_number(figures->rate, "/s") + ", " + short_number(figures->bytes_rate, "B/s"));
        if (figures->dropped != 0) lines.push_back(std::to_string(figures->dropped) + " dropped");
    }
    out << "  " << dot_text(filter_of(stream.from)) << " -> " << dot_text(filter_of(stream.to))
        << " [label=" << label_of(lines) << (options.feedback ? ", style=dashed" : "") << "];\n";
}

// ---- as JSON ----

const char* text_of(bool value) { return value ? "true" : "false"; }

std::string list(const auto& all, const auto& text_of) { return "[" + list_of(all, ",", text_of) + "]"; }

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
    return "{\"buffers\":" + std::to_string(figures.buffers) + ",\"posted\":" + std::to_string(figures.posted) +
           ",\"right_behind\":" + std::to_string(figures.right_behind) +
           ",\"dropped\":" + std::to_string(figures.dropped) + ",\"rate\":" + exact(figures.rate) +
           ",\"bytes_rate\":" + exact(figures.bytes_rate) + ",\"capacity\":" + exact(figures.capacity) + "}";
}

std::string text_of(const SettingValue& value) {
    struct Written {
        std::string operator()(bool flag) const { return text_of(flag); }
        std::string operator()(std::int64_t number) const { return std::to_string(number); }
        std::string operator()(double number) const { return std::isfinite(number) ? exact(number) : "null"; }
        std::string operator()(const std::string& text) const { return json_text(text); }
    };
    return std::visit(Written{}, value);
}

std::string text_of(const SettingDescription& setting) {
    static constexpr std::string_view kinds[] = {"boolean", "integer", "number", "text"};
    std::string text = "{\"name\":" + json_text(setting.name) + ",\"kind\":\"" +
                       std::string(kinds[setting.value.index()]) + "\",\"value\":" + text_of(setting.value) +
                       ",\"unit\":" + json_text(setting.limits.unit);
    for (const auto& [name, limit] : {std::pair{"least", setting.limits.least}, {"most", setting.limits.most}})
        if (std::isfinite(limit)) text += ",\"" + std::string(name) + "\":" + exact(limit);
    return text + "}";
}

std::string text_of(const FilterDescription& filter, const FilterStatistics* figures) {
    std::string text =
        "{\"name\":" + json_text(filter.name) + ",\"type\":" + json_text(filter.type) +
        ",\"copies\":" + std::to_string(filter.options.copies) +
        ",\"targets\":" + list(filter.options.targets, [](int target) { return std::to_string(target); }) +
        ",\"near\":" + json_text(filter.options.near) + ",\"nodes\":" + json_text(filter.options.nodes) +
        ",\"of_program\":" + text_of(filter.of_program) + ",\"may_be_copied\":" + text_of(filter.may_be_copied) + "," +
        streaming::json_of_parts(filter);
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

namespace streaming {

std::string json_of_parts(const FilterDescription& filter) {
    const auto parts_of = [](const auto& all) { return list(all, [](const auto& part) { return text_of(part); }); };
    return "\"inputs\":" + parts_of(filter.inputs) + ",\"outputs\":" + parts_of(filter.outputs) +
           ",\"settings\":" + parts_of(filter.settings);
}

}  // namespace streaming

std::string drawing_of(const GraphDescription& graph, const RunStatistics* figures) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << "digraph penstock {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, "
            "fontname=\"sans-serif\", fontsize=12];\n"
            "  edge [fontname=\"sans-serif\", fontsize=10];\n";
    std::map<std::string, Group> all;  // by the nodes that run them
    for (const auto& filter : graph.filters) all[filter.options.nodes].add(filter);
    for (const auto& [nodes, group] : all) {
        if (nodes.empty()) {
            group.draw(text, "", "  ", figures);
            continue;
        }
        text << "  subgraph " << dot_text("cluster nodes " + nodes) << " {\n    label=" << dot_text("nodes " + nodes)
             << "; style=\"rounded,filled\"; color=gray50; fillcolor=aliceblue; fontname=\"sans-serif\";\n";
        group.draw(text, "nodes " + nodes + "/", "    ", figures);
        text << "  }\n";
    }
    for (const auto& stream : graph.streams) draw_stream(text, stream, figures);
    text << "}\n";
    return text.str();
}

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
