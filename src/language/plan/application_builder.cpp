#include "penstock/application_builder.hpp"

#include <cmath>
#include <map>

#include "language/plan/plan.hpp"
#include "language/xml/document.hpp"
#include "language/xml/text.hpp"

namespace penstock {

using language::in_quotes;
using language::Plan;
using language::PlanRule;

struct ApplicationBuilder::State {
    std::shared_ptr<Plan> plan = std::make_shared<Plan>();
    std::map<std::string, std::size_t> components, options;
    language::Conditions conditions;  ///< of what is described now

    SourcePlace place() const { return {plan->name, 1, 1}; }
    std::size_t component(const std::string& name) const {
        const auto found = components.find(name);
        if (found != components.end()) return found->second;
        throw UsageError("there is no component " + in_quotes(name) +
                         language::hint(name, language::names_of(components)));
    }
    std::size_t option(const std::string& name) const {
        const auto found = options.find(name);
        if (found == options.end()) throw UsageError("there is no option " + in_quotes(name));
        plan->options[found->second].reached = true;
        return found->second;
    }
    void add(const std::string& name, FilterOptions options_given, const ComponentClass& of) {
        if (!language::is_path(name)) throw UsageError(in_quotes(name) + " is no name of a component");
        if (!components.emplace(name, plan->components.size()).second || options.contains(name))
            throw UsageError("the name " + in_quotes(name) + " is taken");
        plan->components.push_back(
            {.name = name, .of = &of, .options = std::move(options_given), .conditions = conditions, .where = place()});
    }
    static std::pair<std::string, SettingValue> setting(const ComponentClass& of, const std::string& name,
                                                        const ParameterValue& value) {
        return {name, language::value_of_setting(language::setting_of(of, name), value.text())};
    }
    Rule& add(Rule& by, PlanRule rule) {
        rule.event = by.event_;
        rule.least = by.least_, rule.most = by.most_, rule.is = by.is_;
        plan->rules.push_back(std::move(rule));
        return by;
    }
};

ApplicationBuilder::ApplicationBuilder(std::string name, const Components& components)
    : state_(std::make_unique<State>()) {
    if (!language::is_name(name)) throw UsageError(in_quotes(name) + " is no name of an application");
    state_->plan->name = std::move(name);
    state_->plan->known = components;
}

ApplicationBuilder::~ApplicationBuilder() = default;

void ApplicationBuilder::add(const std::string& name, const std::string& class_name, FilterOptions options) {
    state_->add(name, std::move(options), state_->plan->class_named(class_name));
}

void ApplicationBuilder::add_kind(const std::string& name, FilterOptions options,
                                  std::shared_ptr<const streaming::FilterKind> kind) {
    Components own;
    own.add_kind("own", "", std::move(kind));
    const auto& made = state_->plan->own_classes.emplace_back(std::make_shared<ComponentClass>(*own.find("own")));
    state_->add(name, std::move(options), *made);
}

void ApplicationBuilder::set(const std::string& component, const std::string& setting, const ParameterValue& value) {
    auto& changed = state_->plan->components[state_->component(component)];
    auto given = State::setting(*changed.of, setting, value);
    std::erase_if(changed.settings, [&](const auto& each) { return each.first == setting; });
    changed.settings.push_back(std::move(given));
}

void ApplicationBuilder::connect(const std::string& from, const std::string& to, StreamOptions options) {
    state_->plan->streams.push_back({.from = from,
                                     .to = to,
                                     .options = std::move(options),
                                     .conditions = state_->conditions,
                                     .where = state_->place(),
                                     .own_conditions = state_->conditions.size()});
}

void ApplicationBuilder::option(const std::string& name, bool initially, const std::function<void()>& parts,
                                const std::function<void()>& otherwise) {
    auto& plan = *state_->plan;
    if (state_->components.contains(name) || !state_->options.emplace(name, plan.options.size()).second)
        throw UsageError("the name " + in_quotes(name) + " is taken");
    const auto number = plan.options.size();
    const auto outside = state_->conditions;
    plan.options.push_back({name, initially, false, state_->place(), outside});
    for (const auto& [describe, on] : {std::pair{&parts, true}, {&otherwise, false}}) {
        if (!*describe) continue;
        state_->conditions = outside;
        state_->conditions.push_back({number, on});
        (*describe)();
    }
    state_->conditions = outside;
}

void ApplicationBuilder::event(const std::string& name) {
    if (!language::is_name(name)) throw UsageError(in_quotes(name) + " is no name of an event");
    state_->plan->events.push_back(name);
}

void ApplicationBuilder::timer(const std::string& event, double after, double every) {
    (void)on(event);
    const auto nanoseconds = [](double seconds) {
        if (!(seconds >= 0 && seconds <= 1e9))
            throw UsageError("a timer is given " + language::text_of(seconds) + " s, and should be given 0 to 1e9 s");
        return std::chrono::nanoseconds(std::llround(seconds * 1e9));
    };
    state_->plan->timers.push_back({event, nanoseconds(after), nanoseconds(every)});
}

void ApplicationBuilder::signal(const std::string& from, const std::string& event) {
    const auto component = state_->component(language::part_of(from));
    const auto output = language::port_of(from);
    (void)state_->plan->event_output(component, output);
    state_->plan->signals.push_back({component, output, state_->plan->event_named(event), state_->place()});
}

void ApplicationBuilder::nodes(const Nodes& group) {
    if (!language::is_name(group.name) || group.name == FilterOptions::any_nodes)
        throw UsageError(in_quotes(group.name) + " is no name of a group of nodes");
    state_->plan->nodes.push_back(group);
}

ApplicationBuilder::Rule ApplicationBuilder::on(const std::string& event) {
    return {*this, state_->plan->event_named(event)};
}

ApplicationBuilder::Rule& ApplicationBuilder::Rule::when(std::optional<double> least, std::optional<double> most) {
    least_ = least, most_ = most;
    return *this;
}
ApplicationBuilder::Rule& ApplicationBuilder::Rule::when(const std::string& is) {
    is_ = is;
    return *this;
}
ApplicationBuilder::Rule& ApplicationBuilder::Rule::set_by(const std::string& component, const std::string& setting,
                                                           const std::string& formula) {
    auto& state = *builder_.state_;
    const auto changed = state.component(component);
    const auto& described = language::setting_of(*state.plan->components[changed].of, setting);
    PlanRule made{.event = event_,
                  .kind = PlanRule::Kind::set,
                  .component = changed,
                  .settings = {{setting, described.value}},
                  .formula = formula};
    state.plan->check_formula(made);
    return state.add(*this, std::move(made));
}

ApplicationBuilder::Rule& ApplicationBuilder::Rule::enable(const std::string& option) {
    return builder_.state_->add(*this, {.kind = PlanRule::Kind::enable, .option = builder_.state_->option(option)});
}
ApplicationBuilder::Rule& ApplicationBuilder::Rule::disable(const std::string& option) {
    return builder_.state_->add(*this, {.kind = PlanRule::Kind::disable, .option = builder_.state_->option(option)});
}
ApplicationBuilder::Rule& ApplicationBuilder::Rule::toggle(const std::string& option) {
    return builder_.state_->add(*this, {.kind = PlanRule::Kind::toggle, .option = builder_.state_->option(option)});
}

ApplicationBuilder::Rule& ApplicationBuilder::Rule::set(const std::string& component, const std::string& setting,
                                                        const ParameterValue& value) {
    auto& state = *builder_.state_;
    const auto changed = state.component(component);
    return state.add(*this, {.kind = PlanRule::Kind::set,
                             .component = changed,
                             .settings = {State::setting(*state.plan->components[changed].of, setting, value)}});
}

ApplicationBuilder::Rule& ApplicationBuilder::Rule::replace(const std::string& component, const std::string& class_name,
                                                            const Settings& settings) {
    auto& state = *builder_.state_;
    PlanRule made{.kind = PlanRule::Kind::replace,
                  .component = state.component(component),
                  .of = &state.plan->class_named(class_name)};
    for (const auto& [setting, value] : settings) made.settings.push_back(State::setting(*made.of, setting, value));
    return state.add(*this, std::move(made));
}

Application ApplicationBuilder::build() {
    auto& plan = *state_->plan;
    for (auto& stream : plan.streams) {
        stream.source = state_->component(language::part_of(stream.from));
        stream.sink = state_->component(language::part_of(stream.to));
        plan.join(stream);
    }
    plan.name_events();
    std::vector<Finding> findings;
    language::check_plan(plan, state_->place(), findings);
    plan.warnings = language::warnings_of(std::move(findings));
    return Application(std::move(state_->plan));
}

}  // namespace penstock
