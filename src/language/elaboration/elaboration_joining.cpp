// When all names are known: streams find their ports, and rules what they change.

#include "language/elaboration/elaboration.hpp"

namespace penstock::language {

std::vector<std::string> Elaboration::names_below(const std::string& prefix) const {
    std::vector<std::string> names;
    for (const auto* const name : taken_)
        if (is_part_of(prefix, *name)) names.push_back(name->substr(prefix.size()));
    // In an order, because the first that is near is proposed.
    constexpr std::size_t most = 2000;
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most));
    std::partial_sort(names.begin(), end, names.end());
    names.erase(end, names.end());
    return names;
}

std::vector<Elaboration::Ends> Elaboration::ends(const std::string& endpoint, bool output, const Element& stream,
                                                 int depth) {
    const auto where = [&] { return stream.place_of(output ? "from" : "to"); };
    const auto dot = endpoint.rfind('.');
    const auto part = endpoint.substr(0, dot);
    const auto prefix = part.substr(0, part.rfind('/') + 1);  // "" where there is none
    if (dot == endpoint.npos) {
        error(where(), in_quotes(endpoint) + " is no port: ports are named component.port");
        return {};
    }
    const auto port = endpoint.substr(dot + 1);
    const char* const kind = output ? "output" : "input";
    if (const auto found = components_.find(part); found != components_.end()) {
        auto& component = plan_.components[found->second];
        if (component.of == nullptr) return {};
        const auto& ports = output ? component.of->filter.outputs : component.of->filter.inputs;
        if (named(ports, port) != nullptr) return {{{endpoint}, false}};
        component.doubtful = true;
        error(where(), in_quotes(part) + " (class " + in_quotes(component.of->name) + ") has no " + kind + " " +
                           in_quotes(port) +
                           (ports.empty() ? ", and no " + std::string(kind) + " at all" : hint(port, names_of(ports))));
        return {};
    }
    if (const auto found = instances_.find(part); found != instances_.end()) {
        const auto& instance = found->second;
        const auto& ports = output ? instance.outputs : instance.inputs;
        constexpr int deepest_port = 200;
        std::vector<Ends> all;
        const auto take = [&](const std::string& inner) {
            if (depth > deepest_port) return;
            for (auto& more : ends(inner, output, stream, depth + 1)) {
                if (!instance.sliced || all.empty()) all.push_back(std::move(more));
                else all.front().ports.insert(all.front().ports.end(), more.ports.begin(), more.ports.end());
            }
        };
        if (const auto named = ports.find(port); named != ports.end()) {
            for (const auto& inner : named->second) take(inner);
        } else if (const auto& parts = output ? instance.last : instance.first; !parts.empty() && ports.empty()) {
            for (const auto& inner : parts) take(inner + "." + port);
        } else {
            error(where(), in_quotes(part) + " has no " + kind + " " + in_quotes(port) + hint(port, names_of(ports)));
        }
        if (instance.sliced && !all.empty()) all.front().sliced = true;
        return all;
    }
    if (!unknown_.contains(part))
        error(where(),
              "there is nothing called " + in_quotes(part) + hint(part.substr(prefix.size()), names_below(prefix)));
    return {};
}

void Elaboration::join(const PendingStream& stream) {
    const auto before = findings_.size();
    const auto from = ends(stream.from, true, *stream.element, 0);
    const auto to = ends(stream.to, false, *stream.element, 0);
    if (findings_.size() != before || from.empty() || to.empty()) {
        // What one end lacks is said once, and not again as an input to which nothing leads.
        for (const auto* side : {&from, &to})
            for (const auto& each : *side)
                for (const auto& port : each.ports) plan_.components[components_.at(part_of(port))].doubtful = true;
        return;
    }
    for (const auto& source : from)
        for (std::size_t i = 0; i < to.size(); ++i) {
            auto options = stream.options;
            if (to[i].sliced && to[i].ports.size() > 1 &&
                !(source.sliced && source.ports.size() == to[i].ports.size())) {
                if (stream.element->attribute("policy") == nullptr) options.policy = Policy::round_robin;
                // Each of several parallel parts is a stream of its own, of which every slice gets a share.
                if (options.name.empty())
                    options.name = stream.from + " to " + stream.to + (i == 0 ? "" : " " + std::to_string(i));
            }
            join(stream, source, to[i], options);
        }
}

void Elaboration::join(const PendingStream& stream, const Ends& from, const Ends& to, StreamOptions options) {
    if (from.sliced && to.sliced && from.ports.size() == to.ports.size()) {
        for (std::size_t i = 0; i < from.ports.size() && !too_many_; ++i)
            add_stream(stream, from.ports[i], to.ports[i], options);
        return;
    }
    for (const auto& source : from.ports)
        for (const auto& sink : to.ports) {
            if (!count(*stream.element)) return;
            add_stream(stream, source, sink, options);
        }
}

void Elaboration::add_stream(const PendingStream& stream, const std::string& from, const std::string& to,
                             StreamOptions options) {
    PlanStream made{.from = from,
                    .to = to,
                    .source = components_.at(part_of(from)),
                    .sink = components_.at(part_of(to)),
                    .options = std::move(options),
                    .conditions = stream.conditions,
                    .where = stream.element->place(),
                    .own_conditions = stream.conditions.size()};
    plan_.join(made);
    for (const auto& one : made.conditions)
        for (const auto& other : made.conditions)
            if (one.option == other.option && one.on && !other.on)
                return error(stream.element->place(), "this stream joins what exists while option " +
                                                          in_quotes(plan_.options[one.option].name) +
                                                          " is on to what exists while it is off, so it never exists");
    plan_.streams.push_back(std::move(made));
}

std::optional<std::size_t> Elaboration::number_for(const Element& element, std::string_view attribute,
                                                   const Environment& scope, const auto& numbers,
                                                   const auto& is_proposed) {
    const auto wanted = text(element, attribute, scope);
    if (wanted.empty()) return std::nullopt;
    if (const auto found = numbers.find(scope.prefix + wanted); found != numbers.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, number] : numbers)
        if (is_proposed(name)) names.push_back(name.substr(scope.prefix.size()));
    std::ranges::sort(names);
    const std::string kind = attribute == "component" ? "component " : "option ";
    error(element.place_of(attribute), "there is no " + kind + in_quotes(wanted) + hint(wanted, names));
    return std::nullopt;
}

void Elaboration::join(const PendingSignal& signal) {
    const auto& element = *signal.element;
    const auto dot = signal.from.rfind('.');
    if (dot == signal.from.npos)
        return error(element.place_of("from"),
                     in_quotes(signal.from) + " is no event output: these are named component.output");
    const auto part = signal.from.substr(0, dot), output = signal.from.substr(dot + 1);
    checked(element, "event", [&] { return plan_.event_named(signal.event); });
    const auto found = components_.find(part);
    if (found == components_.end()) {
        const auto prefix = part.substr(0, part.rfind('/') + 1);
        return error(element.place_of("from"), "there is no component " + in_quotes(part) +
                                                   hint(part.substr(prefix.size()), names_below(prefix)));
    }
    const auto& component = plan_.components[found->second];
    if (component.of == nullptr ||
        !checked(element, "from", [&] { return &plan_.event_output(found->second, output); }))
        return;
    if (component.conditions != signal.conditions)
        return error(element.place(), "a signal stands where its component stands: in the same option, or in none");
    plan_.signals.push_back({found->second, output, signal.event, element.place()});
}

void Elaboration::take_limits(PlanRule& made, const Element& element, const Environment& scope) {
    constexpr double widest = 1.7e308;
    made.least = number<double>(element, "least", scope, -widest, widest);
    made.most = number<double>(element, "most", scope, -widest, widest);
    made.is = given(element, "is", scope);
    if (made.is && (made.least || made.most))
        error(element.place_of("is"),
              "a rule says which value its event 'is', or between which it lies ('least', 'most')");
    if (made.least && made.most && *made.least > *made.most)
        error(element.place_of("most"), "'most' is below 'least': the rule would never hold");
}

void Elaboration::take_formula(PlanRule& made, const Element& element, const SettingDescription& setting,
                               const Environment& scope) {
    if (element.attribute("unit") != nullptr)
        return error(element.place_of("unit"), "a value that is calculated from an event has no unit");
    const auto formula = checked(element, "value", [&] {
        Replacements values;
        for (const auto& [name, variable] : scope.variables)
            if (name != "event") values[name] = {variable.value, ""};
        return replaced(element.value("value"), values);
    });
    if (!formula) return;
    if (scope.used != nullptr)
        for (const auto& name : names_in(element.value("value"))) scope.used->insert(name);
    for (const auto& name : names_in(*formula))
        if (name != "event") return error(element.place_of("value"), "there is no parameter " + in_quotes(name));
    made.formula = *formula;
    made.settings.emplace_back(setting.name, setting.value);
    if (checked(element, "value", [&] { return plan_.check_formula(made), true; }))
        plan_.rules.push_back(std::move(made));
}

void Elaboration::rule(const PendingRule& pending) {
    const auto& element = *pending.element;
    const auto& scope = pending.scope;
    PlanRule made{.event = text(element, "event", scope), .where = element.place()};
    if (made.event.empty()) return;
    checked(element, "event", [&] { return plan_.event_named(made.event); });
    take_limits(made, element, scope);
    const auto before = plan_.rules.size();
    bool says = false;
    for (const auto kind : {PlanRule::Kind::enable, PlanRule::Kind::disable, PlanRule::Kind::toggle}) {
        const auto attribute = switch_words[static_cast<std::size_t>(kind)];
        says = says || element.attribute(attribute) != nullptr;
        made.kind = kind;
        const auto is_below = [&](const std::string& name) { return name.starts_with(scope.prefix); };
        if (const auto option = number_for(element, attribute, scope, option_numbers_, is_below)) {
            plan_.options[*option].reached = true;
            made.option = *option;
            plan_.rules.push_back(made);
        }
    }
    const bool sets = element.attribute("setting") != nullptr, replaces = element.attribute("class") != nullptr;
    if (element.attribute("component") == nullptr) {
        if (sets || replaces)
            error(element.place(), std::string("'") + (sets ? "setting" : "class") + "' needs a 'component'");
        else if (!says)
            error(element.place(),
                  "<on> says what the event does: enable, disable or toggle an option, or give a component another "
                  "setting or class");
        return;
    }
    if (sets == replaces)
        return error(element.place(), "<on> with a component gives it a 'setting' and a 'value', or another 'class'");
    const auto is_beside = [&](const std::string& name) { return is_part_of(scope.prefix, name); };
    const auto component = number_for(element, "component", scope, components_, is_beside);
    if (!component || plan_.components[*component].of == nullptr) return;
    made.component = *component;
    const auto& of = *plan_.components[*component].of;
    if (sets) {
        const auto wanted = text(element, "setting", scope);
        const auto* const setting =
            checked(element, "setting", [&] { return &setting_of(of, wanted); }).value_or(nullptr);
        if (setting == nullptr) return;
        if (element.attribute("value") == nullptr)
            return error(element.place(), "<on> with a 'setting' needs its 'value'");
        made.kind = PlanRule::Kind::set;
        if (names_in(element.value("value")).contains("event")) return take_formula(made, element, *setting, scope);
        if (auto value = value_for(element, *setting, scope))
            made.settings.emplace_back(wanted, std::move(*value)), plan_.rules.push_back(std::move(made));
        return;
    }
    const auto wanted = text(element, "class", scope);
    made.of = checked(element, "class", [&] { return &plan_.class_named(wanted); }).value_or(nullptr);
    if (made.of == nullptr) return;
    made.kind = PlanRule::Kind::replace;
    made.settings = settings_for(element, *made.of, scope);
    const auto fits = [&](const std::vector<PortDescription>& old_ports, const std::vector<PortDescription>& new_ports,
                          bool output) {
        for (const auto& stream : plan_.streams) {
            if ((output ? stream.source : stream.sink) != *component) continue;
            const auto port = port_of(output ? stream.from : stream.to);
            const auto *const old_port = named(old_ports, port), *const new_port = named(new_ports, port);
            if (new_port != nullptr && new_port->element == old_port->element) continue;
            error(element.place_of("class"), "class " + in_quotes(wanted) + " cannot replace " + in_quotes(of.name) +
                                                 ": it has no " + (output ? "output " : "input ") + in_quotes(port) +
                                                 " of type " + std::string(old_port->element.name));
            return false;
        }
        return true;
    };
    if (fits(of.filter.inputs, made.of->filter.inputs, false) &&
        fits(of.filter.outputs, made.of->filter.outputs, true) && plan_.rules.size() == before)
        plan_.rules.push_back(std::move(made));
}

}  // namespace penstock::language
