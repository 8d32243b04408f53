// When all names are known: streams find their ports, and rules what they change.
#include <algorithm>

#include "language/elaboration/elaboration.hpp"
#include "language/xml/text.hpp"

namespace penstock::language {
namespace {

constexpr int deepest_port = 200;

}  // namespace

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
    const auto slash = part.rfind('/');
    const auto prefix = slash == part.npos ? std::string() : part.substr(0, slash + 1);
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
        if (std::any_of(ports.begin(), ports.end(), [&](const PortDescription& each) { return each.name == port; }))
            return {{{endpoint}, false}};
        std::vector<std::string> names;
        for (const auto& each : ports) names.push_back(each.name);
        component.doubtful = true;
        error(where(), in_quotes(part) + " (class " + in_quotes(component.of->name) + ") has no " + kind + " " +
                           in_quotes(port) +
                           (names.empty() ? ", and no " + std::string(kind) + " at all" : hint(port, names)));
        return {};
    }
    if (const auto found = instances_.find(part); found != instances_.end()) {
        const auto& instance = found->second;
        const auto& ports = output ? instance.outputs : instance.inputs;
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
            std::vector<std::string> names;
            for (const auto& each : ports) names.push_back(each.first);
            error(where(), in_quotes(part) + " has no " + kind + " " + in_quotes(port) + hint(port, names));
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
                for (const auto& port : each.ports)
                    plan_.components[components_.at(port.substr(0, port.rfind('.')))].doubtful = true;
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
    PlanStream made;
    made.from = from;
    made.to = to;
    made.source = components_.at(from.substr(0, from.rfind('.')));
    made.sink = components_.at(to.substr(0, to.rfind('.')));
    made.options = std::move(options);
    made.where = stream.element->place();
    made.conditions = stream.conditions;
    made.own_conditions = made.conditions.size();
    // A stream exists while both of its ends do.
    for (const auto end : {made.source, made.sink})
        for (const auto& condition : plan_.components[end].conditions)
            if (std::find(made.conditions.begin(), made.conditions.end(), condition) == made.conditions.end())
                made.conditions.push_back(condition);
    for (const auto& one : made.conditions)
        for (const auto& other : made.conditions)
            if (one.option == other.option && one.on && !other.on)
                return error(stream.element->place(), "this stream joins what exists while option " +
                                                          in_quotes(plan_.options[one.option].name) +
                                                          " is on to what exists while it is off, so it never exists");
    plan_.streams.push_back(std::move(made));
}

std::optional<std::size_t> Elaboration::component_for(const Element& element, std::string_view attribute,
                                                      const Scope& scope) {
    const auto wanted = text(element, attribute, scope);
    if (wanted.empty()) return std::nullopt;
    const auto found = components_.find(scope.prefix + wanted);
    if (found != components_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& own : names_below(scope.prefix))
        if (components_.contains(scope.prefix + own)) names.push_back(own);
    error(element.place_of(attribute), "there is no component " + in_quotes(wanted) + hint(wanted, names));
    return std::nullopt;
}

std::optional<std::size_t> Elaboration::option_for(const Element& element, std::string_view attribute,
                                                   const Scope& scope) {
    const auto wanted = text(element, attribute, scope);
    if (wanted.empty()) return std::nullopt;
    const auto found = option_numbers_.find(scope.prefix + wanted);
    if (found != option_numbers_.end()) {
        plan_.options[found->second].reached = true;
        return found->second;
    }
    std::vector<std::string> names;
    for (const auto& [option, number] : option_numbers_)
        if (option.starts_with(scope.prefix)) names.push_back(option.substr(scope.prefix.size()));
    error(element.place_of(attribute), "there is no option " + in_quotes(wanted) + hint(wanted, names));
    return std::nullopt;
}

void Elaboration::rule(const PendingRule& pending) {
    const auto& element = *pending.element;
    const auto& scope = pending.scope;
    PlanRule made;
    made.where = element.place();
    made.event = text(element, "event", scope);
    if (made.event.empty()) return;
    if (std::find(plan_.events.begin(), plan_.events.end(), made.event) == plan_.events.end())
        error(element.place_of("event"), "there is no event " + in_quotes(made.event) + hint(made.event, plan_.events));
    const auto before = plan_.rules.size();
    constexpr std::pair<const char*, PlanRule::Kind> switches[] = {
        {"enable", PlanRule::Kind::enable}, {"disable", PlanRule::Kind::disable}, {"toggle", PlanRule::Kind::toggle}};
    bool says = false;
    for (const auto& [attribute, kind] : switches) {
        if (element.attribute(attribute) == nullptr) continue;
        says = true;
        made.kind = kind;
        if (const auto option = option_for(element, attribute, scope))
            made.option = *option, plan_.rules.push_back(made);
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
    const auto component = component_for(element, "component", scope);
    if (!component || plan_.components[*component].of == nullptr) return;
    made.component = *component;
    const auto& of = *plan_.components[*component].of;
    if (sets) {
        const auto wanted = text(element, "setting", scope);
        const auto& settings = of.filter.settings;
        const auto found = std::find_if(settings.begin(), settings.end(),
                                        [&](const SettingDescription& each) { return each.name == wanted; });
        if (found == settings.end()) {
            std::vector<std::string> names;
            for (const auto& each : settings) names.push_back(each.name);
            return error(element.place_of("setting"),
                         "class " + in_quotes(of.name) + " has no setting " + in_quotes(wanted) + hint(wanted, names));
        }
        if (element.attribute("value") == nullptr)
            return error(element.place(), "<on> with a 'setting' needs its 'value'");
        made.kind = PlanRule::Kind::set;
        if (auto value = value_for(element, *found, scope))
            made.settings.emplace_back(wanted, std::move(*value)), plan_.rules.push_back(std::move(made));
        return;
    }
    const auto wanted = text(element, "class", scope);
    made.of = plan_.known.find(wanted);
    if (made.of == nullptr)
        return error(element.place_of("class"),
                     "there is no component class " + in_quotes(wanted) + hint(wanted, plan_.known.names()));
    made.kind = PlanRule::Kind::replace;
    made.settings = settings_for(element, *made.of, scope);
    const auto fits = [&](const std::vector<PortDescription>& old_ports, const std::vector<PortDescription>& new_ports,
                          bool output) {
        for (const auto& stream : plan_.streams) {
            if ((output ? stream.source : stream.sink) != *component) continue;
            const auto& end = output ? stream.from : stream.to;
            const auto port = end.substr(end.rfind('.') + 1);
            const auto same = [&](const PortDescription& each) { return each.name == port; };
            const auto old_port = std::find_if(old_ports.begin(), old_ports.end(), same);
            const auto new_port = std::find_if(new_ports.begin(), new_ports.end(), same);
            if (new_port != new_ports.end() && new_port->element == old_port->element) continue;
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
