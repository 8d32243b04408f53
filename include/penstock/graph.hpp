// stream layer: a graph of filters joined by streams, as it is described; Graph::start() makes it run (run.hpp).
//
//     penstock::Graph graph;
//     auto& decode = graph.add<Decode>("decode", {.copies = 4});
//     auto& tile = graph.add<Tile>("tile");
//     graph.connect(decode.rgb, tile.image, {.policy = Policy::demand_driven, .capacity = 8});
//     auto run = graph.start(machine);
//     run.finish();
//
// The filter-stream model is that of DataCutter-Lite; groups, events and changes while the graph runs are those of
// Cell-Space's Space-RTS.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "penstock/filter.hpp"
#include "penstock/stream_error.hpp"
#include "penstock/stream_options.hpp"

namespace penstock {

class Cluster;
class Edit;
class Machine;
class Run;

namespace streaming {
struct Model;
struct RunState;
}  // namespace streaming

/// The program's own writing end of a stream; made by add_writer(). Its functions may be called by several threads.
template <class T>
class StreamWriter;
/// The program's own reading end.
template <class T>
class StreamReader;

/// What a filter, a port or a setting says of itself.
struct PortDescription {
    std::string name;          ///< unique in its graph or filter
    ElementType element;       ///< of its buffers
    bool required = true;      ///< inputs
    std::size_t at_least = 1;  ///< inputs
};
/// A setting with its value.
struct SettingDescription {
    std::string name;      ///< unique in its graph or filter
    SettingValue value;    ///< the one that it has now
    SettingLimits limits;  ///< what it may be
};
/// An event output of a filter.
struct EventDescription {
    std::string name;   ///< unique in its filter
    SettingValue like;  ///< a value of the type that its events have
};
/// A filter with its ports, settings and options.
struct FilterDescription {
    std::string name;                               ///< unique in its graph or filter
    std::string type;                               ///< its C++ type, or its class's name
    std::vector<PortDescription> inputs;            ///< in the order of their declaration
    std::vector<PortDescription> outputs;           ///< likewise
    std::vector<SettingDescription> settings;       ///< likewise
    FilterOptions options;                          ///< copies, targets and so on
    bool may_be_copied = false;                     ///< its type says so
    bool on_any_input = false;                      ///< its type says so
    bool of_program = false;                        ///< the program's own end of a stream
    std::vector<EventDescription> event_outputs{};  ///< what it sends events by
};
/// A stream with its options.
struct StreamDescription {
    std::string from;       ///< "filter.port"
    std::string to;         ///< likewise
    StreamOptions options;  ///< capacity, policy and so on
};
/// A whole graph.
struct GraphDescription {
    std::vector<FilterDescription> filters;  ///< in the order in which they were added
    std::vector<StreamDescription> streams;  ///< likewise
};

/// What a graph and an edit of a running one have in common. Names of filters in groups are "group/filter".
class GraphBuilder {
  public:
    GraphBuilder(const GraphBuilder&) = delete;
    GraphBuilder& operator=(const GraphBuilder&) = delete;

    /// A filter of type F, made of `arguments` (copied, once for each copy). The reference is that of the first copy
    /// and stays valid as long as the graph or the run has it.
    template <class F, class... Args>
    F& add(std::string name, FilterOptions options = {}, Args&&... arguments) {
        static_assert(streaming::Firing<F>, "penstock: a filter needs a call operator without arguments");
        using Kind = streaming::FilterKindOf<F, std::decay_t<Args>...>;
        auto kind = std::make_shared<Kind>(std::forward<Args>(arguments)...);
        return *static_cast<F*>(add_kind(std::move(name), std::move(options), std::move(kind)).object());
    }

    /// A filter whose kind is made at run time (described_filter.hpp). What it returns is the first copy.
    streaming::AnyFilter& add_kind(std::string name, FilterOptions options,
                                   std::shared_ptr<const streaming::FilterKind> kind);

    /// Joins an output to an input of the same type; others do not compile.
    template <class T>
    void connect(Output<T>& from, Input<T>& to, StreamOptions options = {}) {
        connect_ports(from, to, std::move(options));
    }
    /// The same by name, "filter.port". What does not exist or has another type is a problem of the graph, found by
    /// check().
    void connect(const std::string& from, const std::string& to, StreamOptions options = {});

    /// What joins nothing, with a sentence that says why. (Names are taken by the function above.)
    template <class From, class To>
        requires(!std::is_convertible_v<From, std::string> && !std::is_convertible_v<To, std::string>)
    void connect(From&&, To&&, const StreamOptions& = {}) {
        using A = std::remove_cvref_t<From>;
        using B = std::remove_cvref_t<To>;
        constexpr bool swapped =
            std::is_base_of_v<streaming::InputPort, A> && std::is_base_of_v<streaming::OutputPort, B>;
        constexpr bool ports = std::is_base_of_v<streaming::Port, A> && std::is_base_of_v<streaming::Port, B>;
        constexpr bool typed =
            std::is_base_of_v<streaming::OutputPort, A> && std::is_base_of_v<streaming::InputPort, B>;
        static_assert(!swapped,
                      "penstock: the ports are swapped: connect(output, input), from the writer to the reader");
        static_assert(!typed,
                      "penstock: the two ends of a stream have values of one type, and these have two: put a filter "
                      "between them that converts");
        static_assert(ports || swapped || typed,
                      "penstock: streams join ports, not filters: connect(decode.rgb, tile.image)");
        static_assert(!ports || swapped || typed,
                      "penstock: a stream goes from an output to an input: connect(output, input)");
    }

    /// Filters that belong together, as a struct whose constructor takes a GraphBuilder& (and `arguments`), adds
    /// filters and connects them, and keeps references to the ports that are for others. What it adds is called
    /// "name/...". Groups nest.
    template <class G, class... Args>
    G& add_group(const std::string& name, Args&&... arguments) {
        const Exchanged<std::string> prefix(prefix_, prefix_ + name + "/");
        auto group = std::make_shared<G>(*this, std::forward<Args>(arguments)...);
        G& reference = *group;
        keep(std::move(group));
        return reference;
    }

    /// The main program as a filter: it writes into a stream, or reads from one.
    template <class T>
    StreamWriter<T>& add_writer(std::string name);
    /// The end that reads.
    template <class T>
    StreamReader<T>& add_reader(std::string name);

    /// Gives a setting of a filter another value, also on a running graph, where it holds for all copies from their
    /// next firing on.
    void set(const std::string& filter, const std::string& setting, SettingValue value);

    /// Everything that is wrong, in words; empty when the graph could start.
    std::vector<std::string> check() const;
    /// The graph in words and numbers.
    GraphDescription description() const;

  protected:
    /// For Graph and Edit.
    explicit GraphBuilder(std::unique_ptr<streaming::Model> model);
    ~GraphBuilder();

  public:
    /// For the layers themselves.
    streaming::Model& model() const noexcept { return *model_; }

    /// An output and an input.
    using Ports = std::pair<streaming::OutputPort*, streaming::InputPort*>;
    /// The ports with these names; what is not there becomes a problem of the graph.
    Ports ports_named(const std::string& from, const std::string& to);
    /// Of the group that is being made.
    const std::string& prefix() const noexcept { return prefix_; }

  private:
    void connect_ports(streaming::OutputPort& from, streaming::InputPort& to, StreamOptions options);
    void keep(std::shared_ptr<void> group);

    std::unique_ptr<streaming::Model> model_;
    std::string prefix_;
};

/// A graph that is being described, and then started.
class Graph : public GraphBuilder {
  public:
    Graph();
    ~Graph();

    /// Checks everything, then runs it on the machine's targets. Returns at once. Throws GraphError, and nothing has
    /// started then; UsageError when the graph runs already or RunOptions::name is taken.
    Run start(Machine& machine, const RunOptions& options = {});
    /// The same over the nodes of a cluster (cluster.hpp), which must be there as long as the run. Throws NodeDied too.
    Run start(Cluster& cluster, const RunOptions& options = {});
};

}  // namespace penstock
