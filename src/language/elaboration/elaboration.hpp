// From elements to a plan: parameters, expressions, groups, repetitions, parallel parts, options and events.
#pragma once

#include <unordered_map>

#include "language/expression/expression.hpp"
#include "language/plan/plan.hpp"
#include "language/xml/document.hpp"
#include "language/xml/text.hpp"
#include "penstock/application_program.hpp"

namespace penstock::language {

/// Where an element is: how its names begin, what its expressions may use, on which options it depends.
struct Environment {
    std::string prefix{};  ///< "left/"
    Variables variables{};
    Conditions conditions{};
    std::set<std::string, std::less<>>* used = nullptr;  ///< variables that were used
    std::vector<const Element*> groups{};                ///< that it is in, from the outermost
};

/// What has ports but is no filter: a use of a group, a parallel, a slice.
struct Instance {
    std::map<std::string, std::vector<std::string>> inputs{}, outputs{};  ///< what a port stands for: "part.port"
    /// Parts whose ports are also its own: those to which, and from which, streams lead
    std::vector<std::string> first{}, last{};
    bool sliced = false;  ///< each of them gets a share
};

struct PendingStream {
    std::string from, to;  ///< with the prefix
    StreamOptions options{};
    Conditions conditions{};
    const Element* element = nullptr;
};

/// What a parameter is given, and where.
struct GivenText {
    std::string name, text;
    SourcePlace where;
};

struct PendingRule {
    const Element* element = nullptr;
    Environment scope;
};

struct PendingSignal {
    std::string from, event;
    Conditions conditions{};
    const Element* element = nullptr;
};

class Elaboration {
  public:
    Elaboration(Plan& plan, const ApplicationOptions& options, std::vector<Finding>& findings)
        : plan_(plan), options_(options), findings_(findings) {}

    /// The whole application; false: it was given up, because it has too many parts. Documents that it includes are
    /// kept until this is destroyed.
    bool run(const Element& root);
    /// Of the application, when it has run.
    const Variables& variables() const noexcept { return variables_; }
    /// A group's element; null when there is none of that name.
    const Element* group(const std::string& name) const;
    /// Those of included files that are used, by name.
    std::vector<const Element*> library_groups() const;

  private:
    // ---- elaboration.cpp: the application, its files, its parameters ----
    void include(const Element& element);
    void take_group(const Element& group, bool of_library);
    void parameters(const Element& owner, const std::vector<GivenText>& given, Environment& scope,
                    const SourcePlace& caller);
    std::optional<Variable> parameter(const Element& element, const GivenText* given, const SourcePlace& caller,
                                      const Environment& scope);
    void timers(const Element& root, const Environment& scope);
    void nodes(const Element& root, const Environment& scope);
    std::vector<std::string> names_of_nodes() const;

    // ---- elaboration_values.cpp: attributes ----
    /// Nothing where the attribute is not there, or is wrong, which has been said.
    std::optional<std::string> given(const Element& element, std::string_view attribute, const Environment& scope);
    std::string text(const Element& element, std::string_view attribute, const Environment& scope) {
        return given(element, attribute, scope).value_or("");
    }
    std::string name(const Element& element, std::string_view attribute, const Environment& scope, bool path = false);
    /// The name of an index, or of a parameter of which `what` says that it is one.
    std::string variable(const Element& element, std::string_view attribute, const Environment& scope,
                         const char* what);
    template <class Number>
    std::optional<Number> number(const Element& element, std::string_view attribute, const Environment& scope,
                                 std::type_identity_t<Number> least, std::type_identity_t<Number> most) {
        const auto found = given(element, attribute, scope);
        if (!found) return std::nullopt;
        return checked(element, attribute, [&] { return number_within<Number>(attribute, *found, least, most); });
    }
    bool flag(const Element& element, std::string_view attribute, const Environment& scope, bool otherwise);
    std::size_t choice(const Element& element, std::string_view attribute, const Environment& scope,
                       std::span<const std::string_view> words, std::size_t otherwise);
    std::optional<SettingValue> value_for(const Element& element, const SettingDescription& setting,
                                          const Environment& scope);
    Settings settings_for(const Element& element, const ComponentClass& of, const Environment& scope);
    StreamOptions stream_options(const Element& element, const Environment& scope);
    FilterOptions filter_options(const Element& element, const Environment& scope);

    // ---- elaboration_body.cpp: what stands in applications, groups, repetitions, options ----
    void body(const Element& owner, const Environment& scope);
    void component(const Element& element, const Environment& scope);
    void stream(const Element& element, const Environment& scope);
    void use(const Element& element, const Environment& scope);
    void repeat(const Element& element, const Environment& scope);
    void option(const Element& element, const Environment& scope);
    void manager(const Element& element, const Environment& scope);
    void event(const Element& element, const Environment& scope);
    void signal(const Element& element, const Environment& scope);
    void ports(const Element& owner, const Environment& scope, Instance& instance);
    /// For an element, by its attribute `name`.
    bool take_name(const std::string& name, const Element& element);
    /// It begins with the prefix, is in no group there, and no option.
    bool is_part_of(const std::string& prefix, const std::string& name) const;

    // ---- elaboration_parallel.cpp ----
    void parallel(const Element& element, const Environment& scope);
    void slices(const Element& element, const Environment& scope, std::int64_t count, const std::string& index);
    void crossdep(const Element& element, const Environment& scope, std::int64_t count, const std::string& index);

    // ---- elaboration_joining.cpp: when all names are known ----
    /// Ports that a stream reaches together: one, or those of all slices, each of which gets a share.
    struct Ends {
        std::vector<std::string> ports;
        bool sliced = false;
    };
    void join(const PendingStream& stream);
    void join(const PendingStream& stream, const Ends& from, const Ends& to, StreamOptions options);
    std::vector<Ends> ends(const std::string& endpoint, bool output, const Element& stream, int depth);
    void add_stream(const PendingStream& stream, const std::string& from, const std::string& to, StreamOptions options);
    void rule(const PendingRule& pending);
    void join(const PendingSignal& signal);
    /// Of a rule: for which values of its event it holds.
    void take_limits(PlanRule& rule, const Element& element, const Environment& scope);
    /// The value that a rule sets, where it depends on the event's.
    void take_formula(PlanRule& rule, const Element& element, const SettingDescription& setting,
                      const Environment& scope);
    /// Of the component or option that an attribute names; else an error, with those names that are proposed.
    std::optional<std::size_t> number_for(const Element& element, std::string_view attribute, const Environment& scope,
                                          const auto& numbers, const auto& is_proposed);
    std::vector<std::string> names_below(const std::string& prefix) const;

    /// What `make` returns; nothing, when it throws UsageError, which is then what is wrong with the attribute.
    template <class Make>
    std::optional<std::invoke_result_t<Make>> checked(const Element& element, std::string_view attribute, Make make) {
        try {
            return make();
        } catch (const UsageError& wrong) {
            error(element.place_of(attribute), wrong.what());
            return std::nullopt;
        }
    }
    void error(SourcePlace where, std::string message) { add_error(findings_, std::move(where), std::move(message)); }
    void warn(SourcePlace where, std::string message);
    /// One more part; false when there are too many.
    bool count(const Element& element);

    struct Group {
        const Element* element = nullptr;
        bool of_library = false, used = false;
    };
    Plan& plan_;
    Variables variables_;
    const ApplicationOptions& options_;
    std::vector<Finding>& findings_;
    std::vector<std::unique_ptr<Document>> documents_;
    std::set<std::string> included_;
    std::string application_folder_;
    std::map<std::string, Group, std::less<>> groups_;
    std::unordered_map<std::string, const Element*> names_;  ///< and who has them
    std::vector<const std::string*> taken_;                  ///< the same, in the order in which they were taken
    std::unordered_map<std::string, std::size_t> components_;
    std::map<std::string, std::size_t> option_numbers_;
    std::unordered_map<std::string, Instance> instances_;
    std::set<std::string> unknown_;  ///< what has a name, but could not be made
    std::vector<PendingStream> pending_streams_;
    std::vector<PendingRule> pending_rules_;
    std::vector<PendingSignal> pending_signals_;
    std::set<std::string, std::less<>> used_;
    std::size_t parts_ = 0;
    bool too_many_ = false;
};

/// An application with what is wrong with it among the findings; without an elaboration when the root is another one.
struct Understood {
    std::shared_ptr<Plan> plan = std::make_shared<Plan>();
    std::unique_ptr<Elaboration> elaboration{};
};
Understood understood(const Element& root, const ApplicationOptions& options, std::vector<Finding>& findings);

/// Values of a program's parameters, from the texts of its command line, by the rules of files: the parameters as
/// elements of an application that has nothing else. Throws UsageError with all that is wrong.
ParameterValues values_of(const ApplicationProgram& program,
                          const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace penstock::language
