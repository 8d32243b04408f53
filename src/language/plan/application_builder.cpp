#include "penstock/application_builder.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "language/expression/setting_value.hpp"
#include "language/plan/plan.hpp"
#include "language/plan/plan_check.hpp"
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
        std::vector<std::string> names;
        for (const auto& [each, number] : components) names.push_back(each);
        throw UsageError("there is no component " + in_quotes(name) + language::hint(name, names));
    }
    std::size_t option(const std::string& name) const {
        const auto found = options.find(name);
        if (found == options.end()) throw UsageError("there is no option " + in_quotes(name));
        plan->options[found->second].reached = true;
        return found->second;
    }
    const ComponentClass& class_of(const std::string& name) const {
        const auto* const found = plan->known.find(name);
        if (found == nullptr)
            throw UsageError("there is no component class " + in_quotes(name) +
                             language::hint(name, plan->known.names()));
        return *found;
    }
    /// A stream exists while both of its ends do.
    void join(language::PlanStream& stream) const {
        stream.source = component(stream.from.substr(0, stream.from.rfind('.')));
        stream.sink = component(stream.to.substr(0, stream.to.rfind('.')));
        for (const auto end : {stream.source, stream.sink})
            for (const auto& condition : plan->components[end].conditions)
                if (std::find(stream.conditions.begin(), stream.conditions.end(), condition) == stream.conditions.end())
                    stream.conditions.push_back(condition);
    }
    void add(const std::string& name, FilterOptions options_given, const ComponentClass& of) {
        if (!language::is_path(name)) throw UsageError(in_quotes(name) + " is no name of a component");
        if (!components.emplace(name, plan->components.size()).second || options.contains(name))
            throw UsageError("the name " + in_quotes(name) + " is taken");
        language::PlanComponent made;
        made.name = name;
        made.of = &of;
        made.options = std::move(options_given);
        made.conditions = conditions;
        made.where = place();
        plan->components.push_back(std::move(made));
    }
    static std::pair<std::string, SettingValue> setting(const ComponentClass& of, const std::string& name,
                                                        const ParameterValue& value) {
        const auto& settings = of.filter.settings;
        const auto found = std::find_if(settings.begin(), settings.end(),
                                        [&](const SettingDescription& each) { return each.name == name; });
        if (found == settings.end())
            throw UsageError("class " + in_quotes(of.name) + " has no setting " + in_quotes(name));
        auto [given, problem] = language::value_of_setting(*found, value.text());
        if (!given) throw UsageError(problem);
        return {name, std::move(*given)};
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
    state_->add(name, std::move(options), state_->class_of(class_name));
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

ApplicationBuilder::Rule ApplicationBuilder::on(const std::string& event) {
    const auto& events = state_->plan->events;
    if (std::find(events.begin(), events.end(), event) == events.end())
        throw UsageError("there is no event " + in_quotes(event) + language::hint(event, events));
    return {*this, event};
}

namespace {

void add_rule(Plan& plan, const std::string& event, PlanRule::Kind kind, std::size_t option) {
    PlanRule made;
    made.event = event;
    made.kind = kind;
    made.option = option;
    plan.rules.push_back(std::move(made));
}

}  // namespace

ApplicationBuilder::Rule& ApplicationBuilder::Rule::enable(const std::string& option) {
    add_rule(*builder_.state_->plan, event_, PlanRule::Kind::enable, builder_.state_->option(option));
    return *this;
}
ApplicationBuilder::Rule& ApplicationBuilder::Rule::disable(const std::string& option) {
    add_rule(*builder_.state_->plan, event_, PlanRule::Kind::disable, builder_.state_->option(option));
    return *this;
}
ApplicationBuilder::Rule& ApplicationBuilder::Rule::toggle(const std::string& option) {
    add_rule(*builder_.state_->plan, event_, PlanRule::Kind::toggle, builder_.state_->option(option));
    return *this;
}

ApplicationBuilder::Rule& ApplicationBuilder::Rule::set(const std::string& component, const std::string& setting,
                                                        const ParameterValue& value) {
    auto& plan = *builder_.state_->plan;
    PlanRule made;
    made.event = event_;
    made.kind = PlanRule::Kind::set;
    made.component = builder_.state_->component(component);
    made.settings.push_back(State::setting(*plan.components[made.component].of, setting, value));
    plan.rules.push_back(std::move(made));
    return *this;
}

ApplicationBuilder::Rule& ApplicationBuilder::Rule::replace(const std::string& component, const std::string& class_name,
                                                            const Settings& settings) {
    auto& plan = *builder_.state_->plan;
    PlanRule made;
    made.event = event_;
    made.kind = PlanRule::Kind::replace;
    made.component = builder_.state_->component(component);
    made.of = &builder_.state_->class_of(class_name);
    for (const auto& [setting, value] : settings) made.settings.push_back(State::setting(*made.of, setting, value));
    plan.rules.push_back(std::move(made));
    return *this;
}

Application ApplicationBuilder::build() {
    for (auto& stream : state_->plan->streams) state_->join(stream);
    std::vector<Finding> findings;
    language::check_plan(*state_->plan, state_->place(), findings);
    if (std::any_of(findings.begin(), findings.end(),
                    [](const Finding& each) { return each.kind == Finding::Kind::error; })) {
        std::erase_if(findings, [](const Finding& each) { return each.kind == Finding::Kind::warning; });
        throw ApplicationError(std::move(findings));
    }
    state_->plan->warnings = std::move(findings);
    return Application(std::move(state_->plan));
}

}  // namespace penstock
