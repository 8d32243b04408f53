// An application with everything filled in: groups inlined, repetitions made, each stream between two ports.
#pragma once

#include <compare>
#include <optional>

#include "penstock/application.hpp"
#include "stream/description/option_names.hpp"

namespace penstock::language {

// The words of the language for options of streams and filters, in the order of their enumerations: the names of the
// stream layer, and some of its own.
inline constexpr auto& policy_words = streaming::Spelt<streaming::policy_names, '-'>::words;
inline constexpr auto& when_full_words = streaming::Spelt<streaming::when_full_names, '-'>::words;
inline constexpr auto& on_failure_words = streaming::Spelt<streaming::on_failure_names, '-'>::words;
inline constexpr auto& on_node_loss_words = streaming::Spelt<streaming::on_node_loss_names, '-'>::words;
inline constexpr std::string_view isolation_words[] = {"thread", "process"};
inline constexpr std::string_view type_words[] = {"boolean", "integer", "number", "text"};  ///< of SettingValue
inline const SettingValue values_by_type[] = {false, std::int64_t{0}, 0.0, std::string()};
inline constexpr std::string_view shape_words[] = {"task", "slice", "crossdep"};

/// Only when that option is on, or off.
struct Condition {
    std::size_t option = 0;
    bool on = true;
    friend auto operator<=>(const Condition&, const Condition&) = default;
};
using Conditions = std::vector<Condition>;
using Settings = std::vector<std::pair<std::string, SettingValue>>;

struct PlanComponent {
    std::string name;
    const ComponentClass* of = nullptr;  ///< null: there is none, and that has been said
    FilterOptions options{};
    Settings settings{};
    Conditions conditions{};  ///< all of them
    SourcePlace where{};
    bool doubtful = false;  ///< something that it is joined to is not there
};

struct PlanStream {
    std::string from, to;              ///< "component.port"
    std::size_t source = 0, sink = 0;  ///< components
    StreamOptions options{};
    Conditions conditions{};  ///< those of its ends too
    SourcePlace where{};
    std::size_t own_conditions = 0;  ///< the first so many are those of where it stands
};

struct PlanOption {
    std::string name;
    bool initially = false;
    bool reached = false;  ///< by an event
    SourcePlace where;
    Conditions conditions{};  ///< of where it stands
};

struct PlanRule {
    enum class Kind { enable, disable, toggle, set, replace };
    bool switches() const noexcept { return kind < Kind::set; }

    std::string event{};
    Kind kind = Kind::toggle;
    std::size_t option = 0;              ///< enable, disable, toggle
    std::size_t component = 0;           ///< set, replace
    Settings settings{};                 ///< set: one; replace: those of the new filter
    const ComponentClass* of = nullptr;  ///< replace
    SourcePlace where{};
    /// The rule holds for events whose value lies between these, or is this.
    std::optional<double> least{}, most{};
    std::optional<std::string> is{};
    std::string formula{};  ///< set: the value, as a text in which ${event} is that of the event; empty: `settings`

    bool holds_for(const SettingValue& value) const;
    bool is_obeyed_at(const Event& one) const { return one.name == event && holds_for(one.value); }
    friend bool same_event(const PlanRule& a, const PlanRule& b) {
        return std::tie(a.event, a.least, a.most, a.is) == std::tie(b.event, b.least, b.most, b.is);
    }
};

/// An event output of a component, joined to an event: a pair of FilterOptions::events of that component.
struct PlanSignal {
    std::size_t component = 0;
    std::string output, event;
    SourcePlace where{};
};

inline constexpr std::string_view switch_words[] = {"enable", "disable", "toggle"};  ///< of PlanRule::Kind

struct PlanTimer {
    std::string event;
    std::chrono::nanoseconds after{0}, every{0};
    friend bool operator==(const PlanTimer&, const PlanTimer&) = default;
};

struct Plan {
    std::string name;
    Components known;                                                ///< of the classes below
    std::vector<std::shared_ptr<const ComponentClass>> own_classes;  ///< those that have no name
    std::vector<PlanComponent> components;
    std::vector<PlanStream> streams;
    std::vector<PlanOption> options;
    std::vector<PlanRule> rules;
    std::vector<PlanTimer> timers;
    std::vector<PlanSignal> signals;
    std::vector<Nodes> nodes;
    std::vector<std::string> events;
    std::vector<Finding> warnings;

    std::vector<bool> initial() const;
    /// Throw UsageError when there is none of this name.
    const ComponentClass& class_named(const std::string& class_name) const;
    const std::string& event_named(const std::string& event) const;
    /// The event output of a component. Throws UsageError.
    const EventDescription& event_output(std::size_t component, const std::string& output) const;
    /// What the component's filters send is called as its signals say; what has no signal is not sent.
    void name_events();
    /// The formula of a rule that sets, for an event with this value. Throws UsageError for what is no value of the
    /// setting.
    SettingValue calculated(const PlanRule& rule, const SettingValue& event) const;
    /// Throws UsageError where no event that a signal brings can give a value of that type.
    void check_formula(const PlanRule& rule) const;
    /// A stream exists while both of its ends do: their conditions come behind its own.
    void join(PlanStream& stream) const;
};

/// Does a part with these conditions exist when the options are so?
bool holds(const Conditions& conditions, const std::vector<bool>& on) noexcept;

/// The rules of graphs, for a plan: as it is in the beginning, and with each option the other way round. `place`: of
/// what concerns the whole application.
void check_plan(const Plan& plan, const SourcePlace& place, std::vector<Finding>& findings);

/// Adds what exists when the options are so.
void build(const Plan& plan, const std::vector<bool>& on, GraphBuilder& graph);
void add(const PlanComponent& component, GraphBuilder& graph);

}  // namespace penstock::language
