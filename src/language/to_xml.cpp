// A graph written down: the same graph gives the same bytes.
#include <algorithm>

#include "language/document.hpp"
#include "language/grammar.hpp"
#include "language/option_words.hpp"
#include "language/text.hpp"
#include "penstock/application.hpp"

namespace penstock {
namespace {

using language::in_quotes;

/// In an attribute: '$' begins an expression there.
std::string attribute(std::string_view name, std::string_view value) {
    std::string doubled;
    for (const char c : value) doubled += c == '$' ? "$$" : std::string(1, c);
    return language::attribute_text(name, doubled);
}

std::string component(const FilterDescription& filter, const Components& components) {
    if (filter.of_program)
        throw UsageError("the graph cannot be written as XML: " + in_quotes(filter.name) + " is the program's own end of a stream, and a file has no program");
    const auto* const of = components.of_type(filter.type);
    if (of == nullptr)
        throw UsageError("the graph cannot be written as XML: no component class has filters of type '" + filter.type + "' (" + in_quotes(filter.name) +
                         "): give it a name with register_component");
    if (!language::is_path(filter.name)) throw UsageError("the graph cannot be written as XML: " + in_quotes(filter.name) + " is no name of the language");
    const auto& options = filter.options;
    std::string text = "  <component" + attribute("name", filter.name) + attribute("class", of->name);
    if (options.copies == FilterOptions::automatic) text += attribute("copies", "automatic");
    else if (options.copies != 1) text += attribute("copies", std::to_string(options.copies));
    std::string targets;
    for (const int target : options.targets) targets += (targets.empty() ? "" : " ") + std::to_string(target);
    if (!targets.empty()) text += attribute("targets", targets);
    if (!options.near.empty()) text += attribute("near", options.near);
    if (options.on_failure != OnFailure::stop) text += attribute("on-failure", language::on_failure_words[static_cast<std::size_t>(options.on_failure)]);
    if (options.pool != 0) text += attribute("pool", std::to_string(options.pool));
    if (filter.settings.empty()) return text + "/>\n";
    text += ">\n";
    for (const auto& setting : filter.settings) {
        text += "    <set" + attribute("name", setting.name) + attribute("value", language::text_of(setting.value));
        if (!setting.limits.unit.empty()) text += attribute("unit", setting.limits.unit);
        text += "/>\n";
    }
    return text + "  </component>\n";
}

std::string stream(const StreamDescription& stream) {
    const auto& options = stream.options;
    if (options.key)
        throw UsageError("the graph cannot be written as XML: the stream from " + in_quotes(stream.from) + " to " + in_quotes(stream.to) +
                         " has a function as its key, and a file has no functions");
    std::string text = "  <stream" + attribute("from", stream.from) + attribute("to", stream.to);
    const StreamOptions usual;
    if (!options.name.empty()) text += attribute("name", options.name);
    if (options.policy != usual.policy) text += attribute("policy", language::policy_words[static_cast<std::size_t>(options.policy)]);
    if (options.capacity != 0) text += attribute("capacity", std::to_string(options.capacity));
    if (options.capacity_bytes != 0) text += attribute("capacity-bytes", std::to_string(options.capacity_bytes));
    if (options.when_full != usual.when_full) text += attribute("when-full", language::when_full_words[static_cast<std::size_t>(options.when_full)]);
    if (options.ordered) text += attribute("ordered", "true");
    if (!options.fuse) text += attribute("fuse", "false");
    if (options.feedback) text += attribute("feedback", "true");
    return text + "/>\n";
}

}  // namespace

std::string to_xml(const GraphDescription& graph, const std::string& name, const Components& components) {
    if (!language::is_name(name)) throw UsageError(in_quotes(name) + " cannot name an application: a name is a letter, then letters, digits, '-' and '_'");
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<application" + attribute("xmlns", language::namespace_name) + attribute("name", name) + ">\n";
    for (const auto& each : graph.filters) text += component(each, components);
    for (const auto& each : graph.streams) text += stream(each);
    return text + "</application>\n";
}

std::string to_xml(const GraphBuilder& graph, const std::string& name, const Components& components) {
    return to_xml(graph.description(), name, components);
}

}  // namespace penstock
