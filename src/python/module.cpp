// penstock._core
#include "penstock/version.hpp"
#include "python/errors.hpp"
#include "python/ranks/rank_session.hpp"
#include "python/streams/filter_spec.hpp"
#include "python/streams/stream_run.hpp"

NB_MODULE(_core, module) {
    using namespace penstock::python;
    module.doc() = "The compiled part of penstock; import penstock.";
    // numba keeps the globals of every cfunc until the process ends, and with them the tags and bodies that lie there.
    nanobind::set_leak_warnings(false);
    module.def("version", &penstock::library_version, "Of the library.");
    bind_errors(module);
    bind_arguments(module);
    bind_bodies(module);
    bind_machine(module);
    bind_topology(module);
    bind_gallery(module);
    bind_components(module);
    bind_language(module);
    bind_kernels(module);
    bind_rank(module);
    bind_team(module);
    bind_region(module);
    bind_synchronisation(module);
    bind_messenger(module);
    bind_join(module);
    bind_stream_array(module);
    bind_filter_kind(module);
    bind_stream_end(module);
    bind_stream_graph(module);
    bind_cluster(module);
    bind_node_team(module);
    bind_stream_run(module);
}
