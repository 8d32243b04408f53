#include "language/plan/plan.hpp"

#include <algorithm>

#include "language/xml/text.hpp"

namespace penstock::language {

std::vector<bool> Plan::initial() const {
    std::vector<bool> on;
    for (const auto& option : options) on.push_back(option.initially);
    return on;
}

const ComponentClass& Plan::class_named(const std::string& class_name) const {
    if (const auto* const found = known.find(class_name)) return *found;
    throw UsageError("there is no component class " + in_quotes(class_name) + hint(class_name, known.names()));
}

const std::string& Plan::event_named(const std::string& event) const {
    const auto found = std::ranges::find(events, event);
    if (found != events.end()) return *found;
    throw UsageError("there is no event " + in_quotes(event) + hint(event, events));
}

void Plan::join(PlanStream& stream) const {
    stream.own_conditions = stream.conditions.size();
    for (const auto end : {stream.source, stream.sink})
        for (const auto& condition : components[end].conditions)
            if (std::ranges::find(stream.conditions, condition) == stream.conditions.end())
                stream.conditions.push_back(condition);
}

bool holds(const Conditions& conditions, const std::vector<bool>& on) noexcept {
    return std::all_of(conditions.begin(), conditions.end(),
                       [&](const Condition& each) { return on[each.option] == each.on; });
}

void add(const PlanComponent& component, GraphBuilder& graph) {
    graph.add_kind(component.name, component.options, component.of->kind);
    for (const auto& [setting, value] : component.settings) graph.set(component.name, setting, value);
}

void build(const Plan& plan, const std::vector<bool>& on, GraphBuilder& graph) {
    for (const auto& component : plan.components)
        if (component.of != nullptr && holds(component.conditions, on)) add(component, graph);
    for (const auto& stream : plan.streams)
        if (holds(stream.conditions, on)) graph.connect(stream.from, stream.to, stream.options);
}

}  // namespace penstock::language
