// The hardware as this process may use it, for Python.
#include "penstock/topology.hpp"

#include "penstock/store_way.hpp"
#include "python/calls/python_machine.hpp"

namespace penstock::python {
namespace {

nb::object cache_of(const Cache& cache) {
    if (cache.bytes == 0) return nb::none();
    return dict_of("bytes", cache.bytes, "domain", cache.domain);
}

nb::dict describe() {
    const Topology& here = Topology::here();
    nb::list processors;
    for (const Processor& processor : here.processors())
        processors.append(dict_of("index", processor.index, "core", processor.core, "package", processor.package,
                                  "node", processor.node, "l1d", cache_of(processor.l1d), "l2", cache_of(processor.l2),
                                  "l3", cache_of(processor.l3)));
    const auto wait = here.features().monitor_wait;
    return dict_of("description", here.description(), "processors", processors, "usable", here.usable(), "quota",
                   here.quota() ? nb::object(nb::float_(*here.quota())) : nb::object(nb::none()), "line_size",
                   here.line_size(), "flat", here.flat(), "monitor_wait",
                   wait == MonitorWait::umwait   ? "UMWAIT"
                   : wait == MonitorWait::mwaitx ? "MWAITX"
                                                 : "none",
                   "cldemote", here.has_cldemote(), "nanoseconds_per_tick", Clock::nanoseconds_per_tick(), "clock",
                   Clock::source() == Clock::Source::counter ? "processor's counter" : "steady clock");
}

}  // namespace

void bind_topology(nb::module_& module) {
    module.def("topology", &describe, nb::sig("def topology() -> dict[str, Any]"),
               "The processors that this process may use and what they share, the quota, the clock as calibrated (5 "
               "ms at the first call).");
    module.def(
        "store_ways", [] { return StoreWays::here().description(); },
        "How stores travel to another core, by their size, as calibrated (some milliseconds, remembered in the "
        "user's cache folder).");
    module.def(
        "distance", [](int first, int second) { return std::string(name(Topology::here().distance(first, second))); },
        nb::arg("first"), nb::arg("second"),
        "How far apart two allowed processors are (by index), in words. Raises UsageError.");
}

}  // namespace penstock::python
