// A graph written down: the same graph gives the same bytes.
#include "language/xml/part_elements.hpp"
#include "language/xml/text.hpp"

namespace penstock {
namespace {

language::Element component(const FilterDescription& filter, const Components& components) {
    if (filter.of_program)
        throw UsageError("the graph cannot be written as XML: " + language::in_quotes(filter.name) +
                         " is the program's own end of a stream, and a file has no program");
    std::vector<language::WrittenSetting> settings;
    for (const auto& setting : filter.settings) settings.push_back({setting.name, setting.value, setting.limits.unit});
    return language::component_element(filter.name, language::class_for(filter.type, filter.name, components).name,
                                       filter.options, settings);
}

}  // namespace

std::string to_xml(const GraphDescription& graph, const std::string& name, const Components& components) {
    language::Document document;
    document.root = language::application_element(name);
    for (const auto& each : graph.filters) document.root.children.push_back(component(each, components));
    for (const auto& each : graph.streams)
        document.root.children.push_back(language::stream_element(each.from, each.to, each.options));
    return language::text_of(document);
}

std::string to_xml(const GraphBuilder& graph, const std::string& name, const Components& components) {
    return to_xml(graph.description(), name, components);
}

}  // namespace penstock
