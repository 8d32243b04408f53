// Graphs, runs and the program's own ends of streams, as Python has them. penstock.streams gives them their words.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "python/streams/filter_spec.hpp"
#include "python/workers/process_site.hpp"

namespace penstock::python {

/// A filter's kind, and where its firings go if they go to worker interpreters.
struct PythonKind {
    std::shared_ptr<streaming::FilterKind> kind;
    std::shared_ptr<ProcessSite> site{};
};

struct PythonGraph {
    Graph graph;
    std::vector<std::weak_ptr<ProcessSite>> sites;
};

/// While an edit is described.
struct PythonEdit {
    Edit* edit = nullptr;
    PythonMachine* machine = nullptr;

    Edit& live() const;
};

void bind_site(PythonMachine& machine, ProcessSite& site);
nb::dict object_of(const GraphDescription& description);
StreamOptions stream_options_of(const nb::dict& given);
FilterOptions filter_options_of(const nb::dict& given);

void bind_stream_end(nb::module_& module);
void bind_stream_kind(nb::module_& module);
void bind_stream_graph(nb::module_& module);
void bind_stream_run(nb::module_& module, nb::class_<PythonGraph>& graph);

}  // namespace penstock::python
