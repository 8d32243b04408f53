// Graphs and applications written down: the same one gives the same bytes.
//
// An application has its options around what stands in them, and one manager with all rules. The plan has components,
// streams and options in the order of the file that they came from, each kind by itself. Parts of a body are put into
// an order that keeps all three; there is one, because what stands in an option stood together.
#include <numeric>
#include <set>
#include <span>

#include "language/expression/expression.hpp"
#include "language/plan/plan.hpp"
#include "language/xml/document.hpp"
#include "language/xml/text.hpp"

namespace penstock {
namespace language {
namespace {

constexpr const char* cannot = "the graph cannot be written as XML: ";

Element& add(Element& owner, const char* name) {
    owner.children.emplace_back().name = name;
    return owner.children.back();
}

/// Gives an element an attribute that is meant as it stands: '$' begins an expression in files.
void set_plain(Element& element, std::string_view attribute, std::string_view value) {
    element.set(attribute, literal(value));
}

template <class Choice, std::size_t n>
void set_word(Element& element, std::string_view attribute, Choice choice, Choice usual,
              const streaming::Names<n>& words) {
    if (choice != usual) set_plain(element, attribute, words[static_cast<std::size_t>(choice)]);
}

void set_number(Element& element, std::string_view attribute, std::size_t number) {
    if (number != 0) set_plain(element, attribute, std::to_string(number));
}

void set_seconds(Element& element, std::string_view attribute, std::chrono::nanoseconds time) {
    set_plain(element, attribute, text_of(static_cast<double>(time.count()) / 1e9));
}

void add_setting(Element& owner, const std::string& name, const SettingValue& value, const std::string& unit = "") {
    auto& made = add(owner, "set");
    set_plain(made, "name", name);
    set_plain(made, "value", text_of(value));
    if (!unit.empty()) set_plain(made, "unit", unit);
}

/// A component, with those options that are not as they are by themselves. Throws UsageError for a name that is none.
Element& add_component(Element& owner, const std::string& name, const std::string& class_name,
                       const FilterOptions& options) {
    if (!is_path(name)) throw UsageError(cannot + in_quotes(name) + " is no name of the language");
    auto& made = add(owner, "component");
    set_plain(made, "name", name);
    set_plain(made, "class", class_name);
    if (options.copies == FilterOptions::automatic) set_plain(made, "copies", "automatic");
    else if (options.copies != 1) set_plain(made, "copies", std::to_string(options.copies));
    if (!options.targets.empty()) set_plain(made, "targets", list_of(options.targets, " ", number_text));
    if (!options.target_classes.empty()) set_plain(made, "target-classes", list_of(options.target_classes, " "));
    if (!options.near.empty()) set_plain(made, "near", options.near);
    set_word(made, "on-failure", options.on_failure, OnFailure::stop, on_failure_words);
    set_number(made, "pool", options.pool);
    if (options.isolation) set_plain(made, "isolation", isolation_words[static_cast<std::size_t>(*options.isolation)]);
    if (options.time_limit.count() != 0) set_seconds(made, "time-limit", options.time_limit);
    if (!options.nodes.empty()) set_plain(made, "nodes", options.nodes);
    set_word(made, "on-node-loss", options.on_node_loss, OnNodeLoss::stop, on_node_loss_words);
    return made;
}

/// The same for a stream. Throws UsageError for one with a function as its key.
void add_stream(Element& owner, const std::string& from, const std::string& to, const StreamOptions& options) {
    if (options.key)
        throw UsageError(cannot + ("the stream from " + in_quotes(from) + " to " + in_quotes(to)) +
                         " has a function as its key, and a file has no functions");
    auto& made = add(owner, "stream");
    set_plain(made, "from", from);
    set_plain(made, "to", to);
    const StreamOptions usual;
    if (!options.name.empty()) set_plain(made, "name", options.name);
    set_word(made, "policy", options.policy, usual.policy, policy_words);
    set_number(made, "capacity", options.capacity);
    set_number(made, "capacity-bytes", options.capacity_bytes);
    set_word(made, "when-full", options.when_full, usual.when_full, when_full_words);
    if (options.ordered) set_plain(made, "ordered", "true");
    if (!options.fuse) set_plain(made, "fuse", "false");
    if (options.feedback) set_plain(made, "feedback", "true");
}

/// The outermost element. Throws UsageError for a name that is none.
Element application_element(const std::string& name) {
    if (!is_name(name))
        throw UsageError(in_quotes(name) +
                         " cannot name an application: a name is a letter, then letters, digits, '-' and '_'");
    Element made;
    made.name = "application";
    made.set("xmlns", std::string(namespace_name));
    made.set("name", name);
    return made;
}

/// The name of the class of which a file says that filters of this type are. Throws UsageError where there is none;
/// `user`: whose filter it is.
const std::string& class_for(const std::string& type, const std::string& user, const Components& components) {
    if (const auto* const of = components.of_type(type)) return of->name;
    throw UsageError(cannot + ("no component class has filters of type '" + type) + "' (" + in_quotes(user) +
                     "): give it a name with register_component");
}

/// The events that filters of a graph send, and by which outputs.
void add_signals(Element& owner, const GraphDescription& graph) {
    std::set<std::string> declared;
    for (const auto& filter : graph.filters)
        for (const auto& [output, event] : filter.options.events) {
            if (event.empty()) continue;
            if (declared.insert(event).second) set_plain(add(owner, "event"), "name", event);
            auto& made = add(owner, "signal");
            set_plain(made, "from", filter.name + "." + output);
            set_plain(made, "event", event);
        }
}

class Writing {
  public:
    explicit Writing(const Plan& plan) : plan_(plan) {}

    Element root() {
        auto root = application_element(plan_.name);
        for (const auto& event : plan_.events) set_plain(add(root, "event"), "name", event);
        Parts all{std::vector<std::size_t>(plan_.components.size()), std::vector<std::size_t>(plan_.streams.size()),
                  std::vector<std::size_t>(plan_.options.size())};
        for (auto& numbers : all) std::iota(numbers.begin(), numbers.end(), std::size_t{0});
        body(root, all, 0);
        for (const auto& signal : plan_.signals)
            if (plan_.components[signal.component].conditions.empty()) add_signal(root, signal);
        for (const auto& group : plan_.nodes) {
            auto& made = add(root, "nodes");
            set_plain(made, "name", group.name);
            if (group.count != 1) set_plain(made, "count", std::to_string(group.count));
            if (group.needs.cpus != 0) set_plain(made, "cpus", text_of(group.needs.cpus));
            if (group.needs.memory != 0) set_plain(made, "memory", std::to_string(group.needs.memory));
        }
        for (const auto& timer : plan_.timers) {
            auto& made = add(root, "timer");
            set_plain(made, "event", timer.event);
            set_seconds(made, "after", timer.after);
            if (timer.every.count() != 0) set_seconds(made, "every", timer.every);
        }
        if (plan_.rules.empty()) return root;
        auto& manager = add(root, "manager");
        for (const auto& each : plan_.rules) rule(add(manager, "on"), each);
        return root;
    }

  private:
    enum Kind : std::size_t { component, stream, option };
    /// Numbers of what stands in a body, by kind.
    using Parts = std::array<std::vector<std::size_t>, 3>;
    /// A component or a stream of a body, or an option with all that stands in it.
    struct Part {
        Kind kind;
        std::size_t number;
        std::array<Parts, 2> inside{};   ///< while it is off, and while it is on
        std::set<std::size_t> before{};  ///< parts that stand behind it
        std::size_t after = 0;           ///< parts that stand before it
    };

    /// The conditions of where it stands.
    std::span<const Condition> stands(Kind kind, std::size_t number) const {
        if (kind == component) return plan_.components[number].conditions;
        if (kind == option) return plan_.options[number].conditions;
        return std::span(plan_.streams[number].conditions).first(plan_.streams[number].own_conditions);
    }

    void body(Element& owner, const Parts& all, std::size_t depth) {
        std::vector<Part> parts;
        std::map<std::size_t, std::size_t> options;
        const auto part_of_option = [&](std::size_t number) {
            const auto [at, fresh] = options.emplace(number, parts.size());
            if (fresh) parts.push_back({option, number});
            return at->second;
        };
        for (const auto kind : {component, stream, option}) {
            constexpr auto none = static_cast<std::size_t>(-1);
            auto last = none;
            for (const auto number : all[kind]) {
                const auto own = stands(kind, number);
                std::size_t part = parts.size();
                if (own.size() > depth) {
                    part = part_of_option(own[depth].option);
                    parts[part].inside[own[depth].on ? 1 : 0][kind].push_back(number);
                } else if (kind == option) {
                    part = part_of_option(number);
                } else {
                    parts.push_back({kind, number});
                }
                if (last != none && last != part && parts[last].before.insert(part).second) ++parts[part].after;
                last = part;
            }
        }
        std::set<std::size_t> ready;
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (parts[i].after == 0) ready.insert(i);
        while (!ready.empty()) {
            const auto& next = parts[*ready.begin()];
            ready.erase(ready.begin());
            write(owner, next, depth);
            for (const auto behind : next.before)
                if (--parts[behind].after == 0) ready.insert(behind);
        }
    }

    void write(Element& owner, const Part& part, std::size_t depth) {
        if (part.kind == component) {
            const auto& written = plan_.components[part.number];
            add_settings(add_component(owner, written.name, class_name(*written.of, written.name), written.options),
                         written.settings);
            for (const auto& signal : plan_.signals)
                if (signal.component == part.number && !written.conditions.empty()) add_signal(owner, signal);
        } else if (part.kind == stream) {
            const auto& written = plan_.streams[part.number];
            add_stream(owner, written.from, written.to, written.options);
        } else {
            auto& made = add(owner, "option");
            set_plain(made, "name", plan_.options[part.number].name);
            set_plain(made, "initially", plan_.options[part.number].initially ? "on" : "off");
            const auto& [off, on] = part.inside;
            body(made, on, depth + 1);
            if (off != Parts()) body(add(made, "otherwise"), off, depth + 1);
        }
    }

    void add_signal(Element& owner, const PlanSignal& signal) const {
        auto& made = add(owner, "signal");
        set_plain(made, "from", plan_.components[signal.component].name + "." + signal.output);
        set_plain(made, "event", signal.event);
    }
    static void add_settings(Element& owner, const Settings& settings) {
        for (const auto& [name, value] : settings) add_setting(owner, name, value);
    }
    /// What was described in C++ by its type has a name only if a class has.
    const std::string& class_name(const ComponentClass& of, const std::string& user) const {
        return plan_.known.find(of.name) == &of ? of.name : class_for(of.filter.type, user, plan_.known);
    }

    void rule(Element& made, const PlanRule& rule) const {
        set_plain(made, "event", rule.event);
        if (rule.least) set_plain(made, "least", text_of(*rule.least));
        if (rule.most) set_plain(made, "most", text_of(*rule.most));
        if (rule.is) set_plain(made, "is", *rule.is);
        if (rule.switches())
            return set_plain(made, switch_words[static_cast<std::size_t>(rule.kind)], plan_.options[rule.option].name);
        const auto& name = plan_.components[rule.component].name;
        set_plain(made, "component", name);
        if (rule.kind == PlanRule::Kind::set) {
            set_plain(made, "setting", rule.settings.front().first);
            if (rule.formula.empty()) set_plain(made, "value", text_of(rule.settings.front().second));
            else made.set("value", rule.formula);
        } else {
            set_plain(made, "class", class_name(*rule.of, name));
            add_settings(made, rule.settings);
        }
    }

    const Plan& plan_;
};

}  // namespace
}  // namespace language

std::string to_xml(const GraphDescription& graph, const std::string& name, const Components& components) {
    language::Document document{"", language::application_element(name)};
    for (const auto& filter : graph.filters) {
        if (filter.of_program)
            throw UsageError(language::cannot + language::in_quotes(filter.name) +
                             " is the program's own end of a stream, and a file has no program");
        auto& made = language::add_component(document.root, filter.name,
                                             language::class_for(filter.type, filter.name, components), filter.options);
        for (const auto& each : filter.settings) language::add_setting(made, each.name, each.value, each.limits.unit);
    }
    for (const auto& each : graph.streams) language::add_stream(document.root, each.from, each.to, each.options);
    language::add_signals(document.root, graph);
    return language::text_of(document);
}

std::string to_xml(const GraphBuilder& graph, const std::string& name, const Components& components) {
    return to_xml(graph.description(), name, components);
}

std::string to_xml(const Application& application) {
    return language::text_of({"", language::Writing(*application.plan_).root()});
}

}  // namespace penstock
