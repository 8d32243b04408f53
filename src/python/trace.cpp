// Where the time went, for Python.
#include "python/calls/python_machine.hpp"

namespace penstock::python {

void bind_trace(nb::module_& module, nb::class_<PythonMachine>& machine) {
    using trace::Breakdown;
    using trace::Snapshot;
    final_class<Snapshot>(module, "Snapshot",
                          "All counters of a machine at one moment. `after - before` is what happened between two.")
        .def(
            "__sub__", [](const Snapshot& after, const Snapshot& before) { return after - before; }, nb::arg("before"),
            nb::sig("def __sub__(self, before: Snapshot) -> Snapshot"),
            "Raises UsageError when `before` is the later one.")
        .def(
            "breakdown",
            [](const Snapshot& period) { return imported("json", "loads")(trace::json(Breakdown(period))); },
            nb::sig("def breakdown(self) -> dict[str, Any]"),
            "{'tracks': [{'role', 'id', 'name', 'wall_seconds', 'samples', 'scaled', 'shares': {part: {'seconds',\n"
            "'percent'}}, 'counts': {counter: n}}]}: for initiators application, runtime, queue stall, wait,\n"
            "helping; for targets compute, transfer, library, idle. Estimates rest on `samples` timed tasks.")
        .def(
            "table", [](const Snapshot& period) { return trace::table(Breakdown(period)); },
            "The breakdown as a table for a terminal.")
        .def(
            "bars_svg",
            [](const Snapshot& period, const std::string& title) { return trace::bars_svg(Breakdown(period), title); },
            nb::arg("title") = "Where the time went",
            "The breakdown as stacked bars: an SVG document that follows light and dark schemes.");
    machine
        .def("snapshot", used<PythonMachine, &Machine::snapshot>(),
             "All counters now. Subtract two snapshots to report a phase.")
        .def("start_timeline", used<PythonMachine, &Machine::start_timeline>(),
             nb::arg("events") = trace::Timeline::default_capacity,
             "Starts the full timeline: each task with begin and end, the newest `events` of each thread (64 bytes "
             "each).")
        .def("stop_timeline", used<PythonMachine, &Machine::stop_timeline>(),
             "Ends the recording; it can still be read.")
        .def(
            "timeline_json",
            [](const PythonMachine& self) {
                const auto live = self.live();
                return without_interpreter([&] { return live->timeline_json(); });
            },
            "The recorded timeline as JSON for Perfetto (ui.perfetto.dev): one track a thread, tasks named. About "
            "200 bytes a task.");
}

}  // namespace penstock::python
