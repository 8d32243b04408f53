// What stands in applications, groups, repetitions and options.
#include <algorithm>

#include "language/elaboration/elaboration.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {

void Elaboration::body(const Element& owner, const Scope& scope) {
    for (const auto& child : owner.children) {
        if (too_many_) return;
        if (child.name == "component") component(child, scope);
        else if (child.name == "stream") stream(child, scope);
        else if (child.name == "use") use(child, scope);
        else if (child.name == "repeat") repeat(child, scope);
        else if (child.name == "parallel") parallel(child, scope);
        else if (child.name == "option") option(child, scope);
        else if (child.name == "manager") manager(child, scope);
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

void Elaboration::component(const Element& element, const Scope& scope) {
    if (!count(element)) return;
    if (plan_.components.size() == options_.limits.components) {
        too_many_ = true;
        return error(element.place(), "everything repeated, there are more than " +
                                          std::to_string(options_.limits.components) +
                                          " components: repeat less often");
    }
    const auto own = name(element, "name", scope, true);
    PlanComponent made;
    made.name = scope.prefix + own;
    made.where = element.place();
    made.conditions = scope.conditions;
    const auto wanted = text(element, "class", scope);
    made.of = plan_.known.find(wanted);
    if (made.of == nullptr && !wanted.empty())
        error(element.place_of("class"),
              "there is no component class " + in_quotes(wanted) + hint(wanted, plan_.known.names()));
    made.options = filter_options(element, scope);
    if (made.of != nullptr) made.settings = settings_for(element, *made.of, scope);
    if (own.empty() || !take_name(made.name, element)) return;
    components_.emplace(made.name, plan_.components.size());
    plan_.components.push_back(std::move(made));
}

void Elaboration::stream(const Element& element, const Scope& scope) {
    if (!count(element)) return;
    const auto from = text(element, "from", scope), to = text(element, "to", scope);
    PendingStream made;
    made.options = stream_options(element, scope);
    if (!made.options.name.empty()) made.options.name = scope.prefix + made.options.name;
    made.conditions = scope.conditions;
    made.element = &element;
    if (from.empty() || to.empty()) return;
    made.from = scope.prefix + from;
    made.to = scope.prefix + to;
    pending_streams_.push_back(std::move(made));
}

void Elaboration::ports(const Element& owner, const Scope& scope, Instance& instance) {
    for (const auto& child : owner.children) {
        const bool input = child.name == "input";
        if (!input && child.name != "output") continue;
        const auto port = name(child, "name", scope);
        const auto end = text(child, input ? "to" : "from", scope);
        if (!port.empty() && !end.empty())
            (input ? instance.inputs : instance.outputs)[port].push_back(scope.prefix + end);
    }
}

void Elaboration::use(const Element& element, const Scope& scope) {
    if (!count(element)) return;
    const auto own = name(element, "name", scope, true);
    const auto wanted = text(element, "group", scope);
    const auto found = groups_.find(wanted);
    if (found == groups_.end()) {
        std::vector<std::string> names;
        for (const auto& [group, each] : groups_) names.push_back(group);
        if (!wanted.empty())
            error(element.place_of("group"), "there is no group " + in_quotes(wanted) + hint(wanted, names));
        if (!own.empty() && take_name(scope.prefix + own, element)) unknown_.insert(scope.prefix + own);
        return;
    }
    found->second.used = true;
    const auto& group = *found->second.element;
    if (std::find(scope.groups.begin(), scope.groups.end(), &group) != scope.groups.end())
        return error(element.place_of("group"), "group " + in_quotes(wanted) + " contains itself: it would never end");
    if (scope.groups.size() >= options_.limits.depth)
        return error(element.place_of("group"),
                     "groups are nested deeper than " + std::to_string(options_.limits.depth));
    if (own.empty() || !take_name(scope.prefix + own, element)) return;
    Scope inner;
    inner.prefix = scope.prefix + own + "/";
    inner.conditions = scope.conditions;
    inner.groups = scope.groups;
    inner.groups.push_back(&group);
    Settings given;
    std::vector<SourcePlace> places;
    for (const auto& child : element.children) {
        if (child.name != "set") continue;
        given.emplace_back(text(child, "name", scope), text(child, "value", scope));
        places.push_back(child.place_of("value"));
    }
    parameters(group, given, places, inner, element.place());
    body(group, inner);
    Instance instance;
    ports(group, inner, instance);
    instances_.emplace(scope.prefix + own, std::move(instance));
}

void Elaboration::repeat(const Element& element, const Scope& scope) {
    const auto index = name(element, "index", scope);
    if (index.empty()) return;
    if (index.find('-') != index.npos)
        return error(element.place_of("index"),
                     in_quotes(index) + " cannot name an index: '-' is a sign in expressions");
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
    const auto from = element.attribute("from") == nullptr ? std::optional<std::int64_t>(0)
                                                           : integer(element, "from", scope, -most, most);
    const auto to = integer(element, "to", scope, -most, most);
    const auto step = element.attribute("step") == nullptr ? std::optional<std::int64_t>(1)
                                                           : integer(element, "step", scope, 1, most);
    if (!from || !to || !step) return;
    for (auto i = *from; i <= *to && !too_many_; i += *step) once(i);
}

void Elaboration::option(const Element& element, const Scope& scope) {
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

void Elaboration::manager(const Element& element, const Scope& scope) {
    for (const auto& child : element.children) {
        if (child.name == "option") option(child, scope);
        if (child.name == "on" && count(child)) pending_rules_.push_back({&child, scope});
    }
}

}  // namespace penstock::language
