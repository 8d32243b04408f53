// The hardware as this process may use it, for Python.
#include "penstock/topology.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/options.hpp"
#include "penstock/store_way.hpp"
#include "python/calls/c_call.hpp"
#include "python/calls/python_machine.hpp"

namespace penstock::python {
namespace {

nb::object cache_of(const Cache& cache) {
    if (cache.bytes == 0) return nb::none();
    nb::dict entry;
    entry["bytes"] = cache.bytes;
    entry["domain"] = cache.domain;
    return entry;
}

nb::dict describe() {
    const Topology& here = Topology::here();
    nb::list processors;
    for (const Processor& processor : here.processors()) {
        nb::dict entry;
        entry["index"] = processor.index;
        entry["core"] = processor.core;
        entry["package"] = processor.package;
        entry["node"] = processor.node;
        entry["l1d"] = cache_of(processor.l1d);
        entry["l2"] = cache_of(processor.l2);
        entry["l3"] = cache_of(processor.l3);
        processors.append(entry);
    }
    nb::dict result;
    result["description"] = here.description();
    result["processors"] = processors;
    result["usable"] = here.usable();
    result["quota"] = here.quota() ? nb::object(nb::float_(*here.quota())) : nb::object(nb::none());
    result["line_size"] = here.line_size();
    result["flat"] = here.flat();
    const auto wait = here.features().monitor_wait;
    result["monitor_wait"] = wait == MonitorWait::umwait ? "UMWAIT" : wait == MonitorWait::mwaitx ? "MWAITX" : "none";
    result["cldemote"] = here.has_cldemote();
    result["nanoseconds_per_tick"] = Clock::nanoseconds_per_tick();
    result["clock"] = Clock::source() == Clock::Source::counter ? "processor's counter" : "steady clock";
    return result;
}

}  // namespace

void bind_topology(nb::module_& module) {
    module.def("topology", &describe, nb::sig("def topology() -> dict[str, Any]"),
               "The processors that this process may use and what they share, the quota, the clock as calibrated (5 ms "
               "at the first call).");
    module.def(
        "store_ways", [] { return StoreWays::here().description(); },
        "How stores travel to another core, by their size, as calibrated (some milliseconds, remembered in the user's "
        "cache folder).");
    module.def(
        "distance", [](int first, int second) { return std::string(name(Topology::here().distance(first, second))); },
        nb::arg("first"), nb::arg("second"),
        "How far apart two allowed processors are (by index), in words. Raises UsageError.");
}

}  // namespace penstock::python
