// A run as Python has it. penstock.runs gives it its words.
#pragma once

#include <future>

#include "penstock/application.hpp"
#include "python/calls/python_machine.hpp"

namespace penstock::python {

/// Of a graph, or of an application. Ends before its machine does. Let go of with the interpreter's lock.
struct LiveRun {
    const Origin origin{};
    std::shared_ptr<Machine> machine;
    std::optional<Run> of_graph{};
    std::optional<ApplicationRun> application{};
    /// Of the application, once somebody waits for it with a time limit: a thread waits, and runs its filters, so that
    /// another can look at it and at signals. With the interpreter's lock.
    std::shared_future<void> ending{};
    bool told = false;  ///< what it threw was thrown to somebody

    ~LiveRun();
    Run& run() noexcept { return application ? application->run() : *of_graph; }
    /// Without the interpreter's lock.
    void stop();
};

struct PythonRun {
    std::shared_ptr<LiveRun> live;
    nb::object machine;

    Run& run() const noexcept { return live->run(); }
};

/// What a function that describes an edit is given; null when that function has returned.
struct PythonEdit {
    Edit* edit = nullptr;
};

/// `begin` makes the run, without the interpreter's lock; the machine stops it when it closes.
PythonRun start_on(nb::object machine, const std::function<void(LiveRun&)>& begin);

nb::dict object_of(const GraphDescription& description);

// What applications are read with.
using Pairs = std::vector<std::pair<std::string, std::string>>;
using Folders = std::vector<std::string>;
/// The text that a path means when there is no such file but an application of that name is part of the program; else
/// null. Set by the gallery, where there is one.
inline const char* (*known_text)(const std::string& path) = [](const std::string&) -> const char* { return nullptr; };

/// The cluster behind a penstock.Cluster; null for None.
Cluster* cluster_in(nb::handle cluster);
/// What would go where.
nb::dict split_of(const Graph& graph, nb::handle cluster);
/// What penstock.Assignment is made of. `options`: of PlaceOptions.
nb::dict placed_on(const GraphBuilder& graph, nb::handle cluster, const std::string& profile, const nb::dict& options);
void bind_cluster(nb::module_& module);
void bind_node_team(nb::module_& module);
void bind_stream_end(nb::module_& module);
void bind_stream_graph(nb::module_& module);
void bind_stream_run(nb::module_& module);

}  // namespace penstock::python
