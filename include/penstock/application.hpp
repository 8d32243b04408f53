// language layer: an application that is written down: an XML file (docs/language.md) that says which components there
// are, how streams join them, and what events change while it runs.
//
//     const auto application = Application::read("sums.xml", {.settings = {{"count", "1000"}}});
//     application.start(machine).finish();
//
// The idea, and the shapes of parallelism, are those of the coordination language of Cell-Space's developers (XSPCL).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "penstock/components.hpp"
#include "penstock/run.hpp"

namespace penstock {

/// Where something stands in a file.
struct SourcePlace {
    std::string file;          ///< as it was given to read()
    int line = 1, column = 1;  ///< from 1; columns are characters
};

/// Something that is wrong with an application, or probably is.
struct Finding {
    /// A warning does not keep the application from running.
    enum class Kind { error, warning };
    Kind kind = Kind::error;  ///< error or warning
    SourcePlace where;        ///< the beginning of what is wrong
    std::string message;      ///< what is wrong, and what to do
    /// "file:line:column: error: message"
    std::string text() const;
};

/// An application that cannot run. what() lists all errors, a line each.
class ApplicationError : public UsageError {
  public:
    explicit ApplicationError(std::vector<Finding> findings);
    /// Everything that was found, in the order of the file.
    const std::vector<Finding>& findings() const noexcept { return findings_; }

  private:
    std::vector<Finding> findings_;
};

/// What is refused, so that no file can take the memory or the time of who reads it.
struct ApplicationLimits {
    std::size_t bytes = std::size_t{64} << 20;  ///< of each file
    std::size_t attribute_bytes = 65'536;       ///< of one attribute
    std::size_t depth = 64;                     ///< of elements in elements, and of groups in groups
    /// Components, streams and others, when everything is repeated as often as it says
    std::size_t elements = 200'000;
    std::size_t components = 20'000;  ///< the same for components
};

/// What a file may be given, and what it may use.
struct ApplicationOptions {
    /// Values of parameters, by name, as text.
    std::vector<std::pair<std::string, std::string>> settings{};
    /// Folders beside the application's own from which files may be included.
    std::vector<std::string> folders{};
    /// Null: Components::known().
    const Components* components = nullptr;
    ApplicationLimits limits{};  ///< how large it may be
};

namespace language {
struct Plan;
struct RunningApplication;
}  // namespace language

class ApplicationRun;

/// Read, checked, and with its parameters filled in; cheap to copy.
class Application {
  public:
    /// Throws ApplicationError with everything that is wrong; SystemError when the file cannot be read.
    static Application read(const std::string& path, const ApplicationOptions& options = {});
    /// The same with a text; `file` is its name in messages, and its folder the one from which files may be included.
    static Application parse(const std::string& text, const std::string& file = "application.xml",
                             const ApplicationOptions& options = {});

    /// As the file calls it.
    const std::string& name() const noexcept;
    /// What is legal and probably wrong.
    const std::vector<Finding>& warnings() const noexcept;
    /// Events to which it reacts, by name.
    std::vector<std::string> events() const;
    /// Options by name, and whether each is on in the beginning.
    std::vector<std::pair<std::string, bool>> options() const;
    /// Does a component ask for a worker process (isolation="process", or a time-limit)? Then only machines with
    /// Isolation::process run it.
    bool needs_processes() const noexcept;

    /// Adds its components and streams, as they are in the beginning, to a graph. Events change nothing of that graph.
    void build(GraphBuilder& graph) const;
    /// Runs it. Returns at once. Throws as Graph::start() does.
    ApplicationRun start(Machine& machine, const RunOptions& options = {}) const;
    /// The same over the nodes of a cluster.
    ApplicationRun start(Cluster& cluster, const RunOptions& options = {}) const;
    /// The groups of nodes that it asks for, for a Cluster.
    const std::vector<Nodes>& nodes() const noexcept;

    /// The same components, streams, options, rules, timers and events, in the same order.
    friend bool operator==(const Application& one, const Application& other);

  private:
    friend class ApplicationBuilder;
    friend std::string drawing_of(const Application& application);
    friend std::string to_xml(const Application& application);
    explicit Application(std::shared_ptr<const language::Plan> plan);
    std::shared_ptr<const language::Plan> plan_;
};

/// The application in the language of graphviz (`dot -Tsvg`): groups as boxes around their components, options as boxes
/// too, dashed when they are off in the beginning, with the events that switch them; copies and targets at each
/// component.
std::string drawing_of(const Application& application);

/// Everything that is wrong with an application, errors and warnings, by place; empty when all is well. Throws
/// SystemError.
std::vector<Finding> check_application(const std::string& path, const ApplicationOptions& options = {});
std::vector<Finding> check_application_text(const std::string& text, const std::string& file = "application.xml",
                                            const ApplicationOptions& options = {});

/// An application that runs. Its managers take the events that are sent to nobody in particular (Run::send with "",
/// `penstock send`). Destroyed before it has ended, it stops.
class ApplicationRun {
  public:
    ApplicationRun(ApplicationRun&&) noexcept;
    ~ApplicationRun();

    /// The run of its graph.
    Run& run() noexcept;
    /// Throws as Run::finish() does; and GraphError for the first change that an event asked for and that could not be
    /// made.
    void finish();
    /// Returns at once; what it changes is changed soon, in the order of the events. Any thread. Throws as Run::send()
    /// does.
    void send(const Event& event);
    /// Waits until all events that were sent have been dealt with. Not inside a filter.
    void settle();
    /// Is the option on now? Throws UsageError for a name.
    bool is_on(const std::string& option) const;

  private:
    friend class Application;
    explicit ApplicationRun(std::unique_ptr<language::RunningApplication> state);
    std::unique_ptr<language::RunningApplication> state_;
};

/// A graph as an application: one component a filter, all settings, and of the options those that are not as they are
/// by themselves. The same graph gives the same bytes. Throws UsageError for what the language cannot say: filters of
/// classes that have no name, the program's own ends, keys of streams, names that are none.
std::string to_xml(const GraphDescription& graph, const std::string& name = "graph",
                   const Components& components = Components::known());
std::string to_xml(const GraphBuilder& graph, const std::string& name = "graph",
                   const Components& components = Components::known());
/// An application as it was read or described, with its parameters filled in, its groups inlined and its repetitions
/// expanded: Application::parse() of it gives an equal one. Throws UsageError for what the language cannot say, as
/// above.
std::string to_xml(const Application& application);
/// Adds what an application says to a graph. Throws ApplicationError.
void from_xml(GraphBuilder& graph, const std::string& text, const ApplicationOptions& options = {});

}  // namespace penstock
