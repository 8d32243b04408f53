// What stands in applications, groups, repetitions and options.

#include "language/elaboration/elaboration.hpp"

namespace penstock::language {

void Elaboration::body(const Element& owner, const Environment& scope) {
    for (const auto& child : owner.children) {
        if (too_many_) return;
        if (child.name == "component") component(child, scope);
        else if (child.name == "stream") stream(child, scope);
        else if (child.name == "use") use(child, scope);
        else if (child.name == "repeat") repeat(child, scope);
        else if (child.name == "parallel") parallel(child, scope);
        else if (child.name == "option") option(child, scope);
        else if (child.name == "manager") manager(child, scope);
        else if (child.name == "event") event(child, scope);
        else if (child.name == "signal") signal(child, scope);
    }
}

bool Elaboration::take_name(const std::string& name, const Element& element) {
    const auto [at, fresh] = names_.emplace(name, &element);
    if (!fresh)
        error(element.place_of("name"), "the name " + in_quotes(name) + " is taken, at line " +
                                            std::to_string(at->second->place_of("name").line) +
                                            ": names are used once");
    else taken_.push_back(&at->first);
    return fresh;
}

bool Elaboration::is_part_of(const std::string& prefix, const std::string& name) const {
    return name.starts_with(prefix) && name.find('/', prefix.size()) == name.npos && !option_numbers_.contains(name);
}

void Elaboration::component(const Element& element, const Environment& scope) {
    if (!count(element)) return;
    if (plan_.components.size() == options_.limits.components) {
        too_many_ = true;
        return error(element.place(), "everything repeated, there are more than " +
                                          std::to_string(options_.limits.components) +
                                          " components: repeat less often");
    }
    const auto own = name(element, "name", scope, true);
    PlanComponent made{.name = scope.prefix + own, .conditions = scope.conditions, .where = element.place()};
    if (const auto wanted = given(element, "class", scope))
        made.of = checked(element, "class", [&] { return &plan_.class_named(*wanted); }).value_or(nullptr);
    made.options = filter_options(element, scope);
    if (made.of != nullptr) made.settings = settings_for(element, *made.of, scope);
    if (own.empty() || !take_name(made.name, element)) return;
    components_.emplace(made.name, plan_.components.size());
    plan_.components.push_back(std::move(made));
}

void Elaboration::stream(const Element& element, const Environment& scope) {
    if (!count(element)) return;
    const auto from = text(element, "from", scope), to = text(element, "to", scope);
    auto options = stream_options(element, scope);
    if (!options.name.empty()) options.name = scope.prefix + options.name;
    if (from.empty() || to.empty()) return;
    pending_streams_.push_back(
        {scope.prefix + from, scope.prefix + to, std::move(options), scope.conditions, &element});
}

void Elaboration::ports(const Element& owner, const Environment& scope, Instance& instance) {
    for (const auto& child : owner.children) {
        const bool input = child.name == "input";
        if (!input && child.name != "output") continue;
        const auto port = name(child, "name", scope);
        const auto end = text(child, input ? "to" : "from", scope);
        if (!port.empty() && !end.empty())
            (input ? instance.inputs : instance.outputs)[port].push_back(scope.prefix + end);
    }
}

void Elaboration::use(const Element& element, const Environment& scope) {
    if (!count(element)) return;
    const auto own = name(element, "name", scope, true);
    const auto wanted = text(element, "group", scope);
    const auto found = groups_.find(wanted);
    if (found == groups_.end()) {
        if (!wanted.empty())
            error(element.place_of("group"),
                  "there is no group " + in_quotes(wanted) + hint(wanted, names_of(groups_)));
        if (!own.empty() && take_name(scope.prefix + own, element)) unknown_.insert(scope.prefix + own);
        return;
    }
    found->second.used = true;
    const auto& group = *found->second.element;
    if (std::ranges::find(scope.groups, &group) != scope.groups.end())
        return error(element.place_of("group"), "group " + in_quotes(wanted) + " contains itself: it would never end");
    if (scope.groups.size() >= options_.limits.depth)
        return error(element.place_of("group"),
                     "groups are nested deeper than " + std::to_string(options_.limits.depth));
    if (own.empty() || !take_name(scope.prefix + own, element)) return;
    Environment inner{
        .prefix = scope.prefix + own + "/", .conditions = scope.conditions, .used = nullptr, .groups = scope.groups};
    inner.groups.push_back(&group);
    std::vector<GivenText> given;
    for (const auto& child : element.children)
        if (child.name == "set")
            given.push_back({text(child, "name", scope), text(child, "value", scope), child.place_of("value")});
    parameters(group, given, inner, element.place());
    body(group, inner);
    Instance instance;
    ports(group, inner, instance);
    instances_.emplace(scope.prefix + own, std::move(instance));
}

void Elaboration::repeat(const Element& element, const Environment& scope) {
    const auto index = variable(element, "index", scope, "an index: '-' is a sign in expressions");
    if (index.empty()) return;
    auto inner = scope;
    const auto once = [&](SettingValue value) {
        if (!count(element)) return;
        inner.variables[index] = {std::move(value), ""};
        body(element, inner);
    };
    if (element.attribute("over") != nullptr) {
        for (const auto* other : {"from", "to", "step"})
            if (element.attribute(other) != nullptr)
                error(element.place_of(other), "a repetition over a list has no " + in_quotes(other));
        for (auto& word : words_of(text(element, "over", scope))) {
            if (const auto number = integer_of(word)) once(*number);
            else once(std::move(word));
        }
        return;
    }
    if (element.attribute("to") == nullptr)
        return error(element.place(), "<repeat> says up 'to' which number it goes, or 'over' which list");
    constexpr auto most = std::int64_t{1} << 40;
    const auto bound = [&](std::string_view attribute, std::int64_t least, std::optional<std::int64_t> otherwise) {
        return element.attribute(attribute) == nullptr ? otherwise
                                                       : number<std::int64_t>(element, attribute, scope, least, most);
    };
    const auto from = bound("from", -most, 0), to = bound("to", -most, {}), step = bound("step", 1, 1);
    if (!from || !to || !step) return;
    for (auto i = *from; i <= *to && !too_many_; i += *step) once(i);
}

void Elaboration::option(const Element& element, const Environment& scope) {
    if (!count(element)) return;
    const auto own = name(element, "name", scope, true);
    constexpr std::string_view words[] = {"off", "on"};
    const bool initially = choice(element, "initially", scope, words, 0) == 1;
    if (own.empty() || !take_name(scope.prefix + own, element)) return;
    const auto number = plan_.options.size();
    plan_.options.push_back({scope.prefix + own, initially, false, element.place(), scope.conditions});
    option_numbers_.emplace(scope.prefix + own, number);
    auto inner = scope;
    inner.conditions.push_back({number, true});
    body(element, inner);
    for (const auto& child : element.children) {
        if (child.name != "otherwise") continue;
        inner.conditions.back().on = false;
        body(child, inner);
    }
}

/// Events are those of the whole application, wherever they are declared.
void Elaboration::event(const Element& element, const Environment& scope) {
    if (!count(element)) return;
    const auto own = name(element, "name", scope);
    if (own.empty()) return;
    if (std::ranges::find(plan_.events, own) != plan_.events.end())
        return error(element.place_of("name"), "event " + in_quotes(own) + " is declared twice");
    plan_.events.push_back(own);
}

void Elaboration::signal(const Element& element, const Environment& scope) {
    if (!count(element)) return;
    const auto from = text(element, "from", scope), to = text(element, "event", scope);
    if (!from.empty() && !to.empty()) pending_signals_.push_back({scope.prefix + from, to, scope.conditions, &element});
}

void Elaboration::manager(const Element& element, const Environment& scope) {
    for (const auto& child : element.children) {
        if (child.name == "option") option(child, scope);
        if (child.name == "on" && count(child)) pending_rules_.push_back({&child, scope});
    }
}

}  // namespace penstock::language
