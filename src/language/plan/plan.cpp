#include "language/plan/plan.hpp"

#include <algorithm>

namespace penstock::language {

std::vector<bool> Plan::initial() const {
    std::vector<bool> on;
    for (const auto& option : options) on.push_back(option.initially);
    return on;
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
