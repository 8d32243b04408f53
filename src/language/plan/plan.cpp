#include "language/plan/plan.hpp"

#include "language/xml/text.hpp"
#include "stream/description/model.hpp"

namespace penstock {
namespace language {

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

namespace {

/// Of a class without a name its type is what is known.
bool same(const Plan& plan_a, const ComponentClass* a, const Plan& plan_b, const ComponentClass* b) {
    if (a == b || a == nullptr || b == nullptr) return a == b;
    const bool have_names = plan_a.known.find(a->name) == a && plan_b.known.find(b->name) == b;
    return a->filter.type == b->filter.type && (!have_names || a->name == b->name);
}

/// By what they would do, not by where it is written.
bool same(const Plan& a, const Plan& b) {
    const auto same_components = [&](const PlanComponent& one, const PlanComponent& other) {
        return one.name == other.name && same(a, one.of, b, other.of) && one.options == other.options &&
               one.settings == other.settings && one.conditions == other.conditions;
    };
    const auto same_streams = [](const PlanStream& one, const PlanStream& other) {
        return one.from == other.from && one.to == other.to && streaming::same(one.options, other.options) &&
               one.conditions == other.conditions;
    };
    const auto same_options = [](const PlanOption& one, const PlanOption& other) {
        return one.name == other.name && one.initially == other.initially && one.conditions == other.conditions;
    };
    const auto same_rules = [&](const PlanRule& one, const PlanRule& other) {
        return one.event == other.event && one.kind == other.kind && one.option == other.option &&
               one.component == other.component && one.settings == other.settings && same(a, one.of, b, other.of);
    };
    return a.name == b.name && a.events == b.events && a.timers == b.timers &&
           std::ranges::equal(a.components, b.components, same_components) &&
           std::ranges::equal(a.streams, b.streams, same_streams) &&
           std::ranges::equal(a.options, b.options, same_options) && std::ranges::equal(a.rules, b.rules, same_rules);
}

}  // namespace
}  // namespace language

bool operator==(const Application& one, const Application& other) {
    return one.plan_ == other.plan_ || language::same(*one.plan_, *other.plan_);
}

}  // namespace penstock
