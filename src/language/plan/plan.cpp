#include "language/plan/plan.hpp"

#include "language/expression/expression.hpp"
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

const EventDescription& Plan::event_output(std::size_t component, const std::string& output) const {
    const auto& of = *components[component].of;
    if (const auto* const found = named(of.filter.event_outputs, output)) return *found;
    throw UsageError(
        in_quotes(components[component].name) + " (class " + in_quotes(of.name) + ") has no event output " +
        in_quotes(output) +
        (of.filter.event_outputs.empty() ? ", and none at all" : hint(output, names_of(of.filter.event_outputs))));
}

void Plan::name_events() {
    for (auto& component : components) {
        component.options.events.clear();
        if (component.of == nullptr) continue;
        for (const auto& output : component.of->filter.event_outputs) {
            const auto before = component.options.events.size();
            for (const auto& signal : signals)
                if (&components[signal.component] == &component && signal.output == output.name)
                    component.options.events.emplace_back(output.name, signal.event);
            if (component.options.events.size() == before) component.options.events.emplace_back(output.name, "");
        }
    }
}

bool PlanRule::holds_for(const SettingValue& value) const {
    if (is) return text_of(value) == *is;
    if (!least && !most) return true;
    const auto size = size_of(value);
    return size && (!least || *size >= *least) && (!most || *size <= *most);
}

SettingValue Plan::calculated(const PlanRule& rule, const SettingValue& event) const {
    const auto& of = *components[rule.component].of;
    return value_of_setting(setting_of(of, rule.settings.front().first),
                            substituted(rule.formula, {{"event", {event, ""}}}));
}

void Plan::check_formula(const PlanRule& rule) const {
    const auto& setting = setting_of(*components[rule.component].of, rule.settings.front().first);
    for (const auto& signal : signals) {
        if (signal.event != rule.event) continue;
        const auto& like = event_output(signal.component, signal.output).like;
        const SettingValue samples[] = {true, std::int64_t{3}, 3.25, std::string("text")};
        const auto text = substituted(rule.formula, {{"event", {samples[like.index()], ""}}});
        if (!value_like(setting.value, text))
            throw UsageError("event " + in_quotes(rule.event) + " brings " + kind_of(like) + " from " +
                             in_quotes(components[signal.component].name + "." + signal.output) + ", and setting " +
                             in_quotes(setting.name) + " should be " + kind_of(setting.value));
    }
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
        return same_event(one, other) && one.kind == other.kind && one.option == other.option &&
               one.component == other.component && one.settings == other.settings && one.formula == other.formula &&
               same(a, one.of, b, other.of);
    };
    return a.name == b.name && a.events == b.events && a.timers == b.timers && a.nodes == b.nodes &&
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
