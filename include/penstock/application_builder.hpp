// language layer: an application described in C++, with everything that a file can say; `penstock compile` writes such
// code.
//
//     ApplicationBuilder app("sums");
//     app.add("numbers", "numbers");                                 // of a class that has a name
//     app.add<Blur>("blur", {.copies = 2});                          // or of a type
//     app.set("numbers", "count", 1000);
//     app.connect("numbers.out", "blur.in", {.capacity = 4});
//     app.event("inset");
//     app.option("shown", false, [&] { ... });  // what is described there exists while the option is on
//     app.on("inset").toggle("shown");
//     app.build().start(machine).finish();
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/application.hpp"
#include "penstock/parameter_value.hpp"

namespace penstock {

/// Describes an application as an XML file would, in C++.
class ApplicationBuilder {
  public:
    /// `components`: where the classes are looked up by name.
    explicit ApplicationBuilder(std::string name, const Components& components = Components::known());
    ~ApplicationBuilder();
    ApplicationBuilder(const ApplicationBuilder&) = delete;
    ApplicationBuilder& operator=(const ApplicationBuilder&) = delete;

    /// A component. Throws UsageError for a name that is taken, and for a class that there is not.
    void add(const std::string& name, const std::string& class_name, FilterOptions options = {});
    /// The same for filters of type F, made of `arguments` (copied, for each).
    template <class F, class... Args>
    void add(const std::string& name, FilterOptions options = {}, Args&&... arguments) {
        add_kind(name, std::move(options),
                 std::make_shared<streaming::FilterKindOf<F, std::decay_t<Args>...>>(std::forward<Args>(arguments)...));
    }
    /// A filter whose kind is made at run time.
    void add_kind(const std::string& name, FilterOptions options, std::shared_ptr<const streaming::FilterKind> kind);
    /// Gives a setting of a component a value. Throws UsageError for a component, a setting or a value that cannot be.
    void set(const std::string& component, const std::string& setting, const ParameterValue& value);
    /// Joins "component.port" to another.
    void connect(const std::string& from, const std::string& to, StreamOptions options = {});

    /// What `parts` describes exists while the option is on, and what `otherwise` describes while it is off.
    void option(const std::string& name, bool initially, const std::function<void()>& parts,
                const std::function<void()>& otherwise = {});
    /// Declares an event.
    void event(const std::string& name);
    /// Sends the event after so many seconds, and, unless `every` is 0, again and again.
    void timer(const std::string& event, double after, double every = 0);
    /// What a component sends at its event output ("component.output") is this event. Throws UsageError.
    void signal(const std::string& from, const std::string& event);
    /// A group of nodes that it asks for, by which FilterOptions::nodes calls it.
    void nodes(const Nodes& group);

    /// Values by the names of settings.
    using Settings = std::vector<std::pair<std::string, ParameterValue>>;
    /// What an event changes; all rules of one event are one change. Options and components are there already; all
    /// throw UsageError.
    class Rule {
      public:
        /// What follows holds for events whose value lies between these, or whose value, as a text, is this.
        Rule& when(std::optional<double> least, std::optional<double> most);
        Rule& when(const std::string& is);
        /// Switches a part of the graph on.
        Rule& enable(const std::string& option);
        /// Switches it off.
        Rule& disable(const std::string& option);
        /// Switches it over.
        Rule& toggle(const std::string& option);
        /// Gives a setting another value.
        Rule& set(const std::string& component, const std::string& setting, const ParameterValue& value);
        /// The same with a value that is calculated from the event's: "${event * 2}".
        Rule& set_by(const std::string& component, const std::string& setting, const std::string& formula);
        /// Another filter in its place.
        Rule& replace(const std::string& component, const std::string& class_name, const Settings& settings = {});

      private:
        friend class ApplicationBuilder;
        Rule(ApplicationBuilder& builder, std::string event) : builder_(builder), event_(std::move(event)) {}
        ApplicationBuilder& builder_;
        std::string event_;
        std::optional<double> least_{}, most_{};
        std::optional<std::string> is_{};
    };
    /// What happens when this event comes.
    Rule on(const std::string& event);

    /// The application. Once. Throws UsageError for a stream to a component that there is not; ApplicationError with
    /// everything else that is wrong with its graph.
    Application build();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace penstock
