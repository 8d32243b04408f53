// Clusters, as Python has them. penstock.cluster gives them their words.
#include "penstock/cluster.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>

#include "nodes/cluster_state.hpp"
#include "penstock/application_profile.hpp"
#include "python/streams/filter_spec.hpp"
#include "python/streams/stream_run.hpp"

namespace penstock::python {
namespace {

/// What `penstock.cluster` calls: an engine that is written in Python.
class PythonEngine final : public Engine {
  public:
    explicit PythonEngine(nb::object engine) : engine_(hold(std::move(engine))) {}

    void start(const Node& node, const std::string& invitation) override {
        in_python([&] { engine_->attr("start")(described(node), invitation); });
    }
    void end(const Node& node) noexcept override {
        try {
            in_python([&] { engine_->attr("end")(described(node)); });
        } catch (const std::exception& error) {
            std::fprintf(stderr, "penstock: the engine could not end node '%s': %s\n", node.name.c_str(), error.what());
        }
    }
    void becomes(const Node& spare, const Node& node) override {
        in_python([&] { engine_->attr("becomes")(described(spare), described(node)); });
    }

  private:
    static nb::dict described(const Node& node) {
        nb::dict resources;
        for (const auto& [name, amount] : node.needs.resources) resources[name.c_str()] = amount;
        return dict_of("site", node.site, "generation", node.generation, "name", node.name, "cpus", node.needs.cpus,
                       "memory", node.needs.memory, "resources", resources);
    }
    HeldObject engine_;
};

MachineOptions node_machine_of(const nb::dict& given) {
    MachineOptions options;
    if (given.contains("targets") && !nb::object(given["targets"]).is_none())
        options.targets = nb::cast<int>(given["targets"]);
    return options;
}

std::chrono::milliseconds milliseconds_of(nb::handle seconds) {
    return std::chrono::milliseconds(std::llround(nb::cast<double>(seconds) * 1e3));
}

struct PythonCluster {
    std::shared_ptr<Machine> on;
    std::shared_ptr<PythonEngine> engine;
    std::unique_ptr<Cluster> cluster;

    Cluster& live() const {
        if (cluster == nullptr) throw UsageError("this cluster is closed");
        return *cluster;
    }
};

PythonCluster cluster_of(nb::object machine, const nb::dict& given) {
    ClusterOptions options;
    for (const auto& [name, count, cpus, memory, resources] :
         nb::cast<std::vector<std::tuple<std::string, int, double, std::uint64_t, std::map<std::string, double>>>>(
             given["nodes"]))
        options.nodes.push_back({name, count, {cpus, memory, resources}});
    options.engine = nb::cast<std::string>(given["engine"]);
    options.agent = nb::cast<std::vector<std::string>>(given["agent"]);
    options.listen = nb::cast<std::string>(given["listen"]);
    options.encryption = choose<Encryption>("encryption", nb::object(given["encryption"]),
                                            std::array<std::string_view, 2>{"tls", "none"});
    options.patience = milliseconds_of(given["patience"]);
    options.time_to_start = milliseconds_of(given["time_to_start"]);
    options.spares = nb::cast<int>(given["spares"]);
    options.deaths_of_a_buffer = nb::cast<int>(given["deaths_of_a_buffer"]);
    options.node_machine = node_machine_of(given);
    if (nb::object log = given["log"]; !log.is_none())
        options.log = [held = hold(std::move(log))](const std::string& line) {
            const nb::gil_scoped_acquire acquire;
            try {
                (*held)(line);
            } catch (nb::python_error& error) {
                error.discard_as_unraisable("the log of a cluster");
            }
        };
    PythonCluster made;
    made.on = nb::cast<PythonMachine&>(machine).live();
    if (nb::object engine = given["own_engine"]; !engine.is_none()) {
        made.engine = std::make_shared<PythonEngine>(std::move(engine));
        options.own_engine = made.engine;
    }
    made.cluster = without_interpreter([&] { return std::make_unique<Cluster>(*made.on, std::move(options)); });
    return made;
}

/// A filter that another interpreter has pickled. Throws UsageError.
std::shared_ptr<const streaming::FilterKind> kind_from(const streaming::FilterKind::Recipe& recipe) {
    std::shared_ptr<const streaming::FilterKind> kind;
    in_python([&] {
        const nb::bytes bytes(recipe.bytes.data(), recipe.bytes.size());
        const nb::object made = nb::module_::import_("penstock.cluster").attr("_kind_from")(recipe.name, bytes);
        kind = nb::cast<PythonKind&>(made).kind;
    });
    return kind;
}

}  // namespace

Cluster* cluster_in(nb::handle cluster) {
    return cluster.is_none() ? nullptr : &nb::cast<PythonCluster&>(cluster).live();
}

nb::dict split_of(const Graph& graph, nb::handle cluster) {
    Cluster& over = nb::cast<PythonCluster&>(cluster).live();
    const auto split = without_interpreter([&] { return over.split(graph); });
    nb::list parts, cut;
    for (const auto& part : split.parts) parts.append(nb::make_tuple(part.node, part.filters));
    for (const auto& stream : split.cut) cut.append(nb::make_tuple(stream.from, stream.to));
    return dict_of("parts", parts, "cut", cut, "text", split.text());
}

nb::dict placed_on(const GraphBuilder& graph, nb::handle cluster, const std::string& profile, const nb::dict& options) {
    Cluster& over = nb::cast<PythonCluster&>(cluster).live();
    const PlaceOptions how{nb::cast<double>(options["balance"]), nb::cast<double>(options["program_cpus"])};
    const auto made = without_interpreter([&] { return over.place(graph, profile, how); });
    nb::list filters, shares, cut;
    for (const auto& each : made.filters) filters.append(nb::make_tuple(each.filter, each.nodes, each.why, each.load));
    for (const auto& each : made.shares)
        shares.append(nb::make_tuple(each.nodes, each.load, each.cpus, each.ratio, each.memory, each.of_memory));
    for (const auto& each : made.cut) cut.append(nb::make_tuple(each.from, each.to, each.bytes_rate));
    return dict_of("filters", filters, "shares", shares, "cut", cut, "bytes_rate", made.bytes_rate, "balance",
                   made.balance, "best", made.best, "text", made.text());
}

void bind_cluster(nb::module_& module) {
    streaming::FilterKind::read_recipes("python", &kind_from);
    final_class<ClusterSnapshot::Part>(module, "NodeSnapshot", "All counters of one node of a cluster at one moment.")
        .def_ro("node", &ClusterSnapshot::Part::node, "'program', or 'decoders.2'")
        .def_ro("generation", &ClusterSnapshot::Part::generation, "Which agent of it: from 1.")
        .def_ro("counters", &ClusterSnapshot::Part::counters, "On its own clock; None: `note` says why.")
        .def_ro("note", &ClusterSnapshot::Part::note,
                "Why there are none, or that they are those of an agent that took a lost one's place.");
    final_class<ClusterSnapshot>(module, "ClusterSnapshot",
                                 "All counters of a cluster, as each node has measured its own. `after - before` is "
                                 "what happened between two.")
        .def_ro("nodes", &ClusterSnapshot::parts,
                "The program first, then all nodes in their order, also lost ones, without spares.")
        .def(
            "__sub__", [](const ClusterSnapshot& after, const ClusterSnapshot& before) { return after - before; },
            nb::arg("before"), nb::sig("def __sub__(self, before: ClusterSnapshot) -> ClusterSnapshot"),
            "A node that has another agent by now has what that one did since it began. Raises UsageError when "
            "`before` is\nthe later one.")
        .def(
            "breakdown", [](const ClusterSnapshot& period) { return imported("json", "loads")(period.json()); },
            nb::sig("def breakdown(self) -> dict[str, Any]"),
            "{'nodes': [{'node', 'generation', 'note', 'breakdown': as of Snapshot.breakdown(), or None}]}")
        .def("table", &ClusterSnapshot::table, "For a terminal: a section for each node, below its name.");
    final_class<PythonCluster>(module, "Cluster", "What penstock.Cluster stands on.")
        .def_static("of", &cluster_of)
        .def("close", [](PythonCluster& self) { without_interpreter([&] { self.cluster = nullptr; }); })
        .def("agents",
             [](PythonCluster& self) {
                 nb::list all;
                 for (const auto& agent : self.live().agents())
                     all.append(nb::make_tuple(agent.node, agent.host, agent.process, agent.generation));
                 return all;
             })
        .def("refused",
             [](PythonCluster& self) {
                 const auto counts = self.live().refused();
                 return dict_of("wrong_secret", counts.wrong_secret, "old_generation", counts.old_generation, "others",
                                counts.others);
             })
        .def("replaced", [](PythonCluster& self) { return self.live().replaced(); })
        .def("start_timeline",
             [](PythonCluster& self, std::size_t events) {
                 without_interpreter([&] { self.live().start_timeline(events); });
             })
        .def("stop_timeline", [](PythonCluster& self) { without_interpreter([&] { self.live().stop_timeline(); }); })
        .def("timeline_json",
             [](PythonCluster& self) { return without_interpreter([&] { return self.live().timeline_json(); }); })
        .def("snapshot",
             [](PythonCluster& self) { return without_interpreter([&] { return self.live().snapshot(); }); })
        .def("died", [](PythonCluster& self, int site, std::uint32_t generation, const std::string& how) {
            without_interpreter([&] {
                if (self.engine != nullptr && self.engine->died) self.engine->died(site, generation, how);
            });
        });
    module.def("invitation_of_job", [] { return without_interpreter([] { return nodes::invitation_of_job(); }); });
    module.def("profile_text", [](const RunStatistics& figures) {
        ApplicationProfile profile("graph", 1);
        profile.look(figures);
        return profile.text();
    });
    module.def("run_agent", [](const std::string& invitation) {
        return without_interpreter([&] { return run_agent(invitation); });
    });
}

}  // namespace penstock::python
