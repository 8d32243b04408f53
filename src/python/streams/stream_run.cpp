#include "python/streams/stream_run.hpp"

#include <nanobind/stl/filesystem.h>

#include <cmath>
#include <filesystem>

#include "penstock/edit.hpp"
#include "python/ranks/rank_session.hpp"
#include "python/streams/filter_spec.hpp"

namespace penstock::python {
namespace {

/// Throws what a signal's handler raised. In the thread that waits, without the interpreter's lock.
void look_for_signals() {
    if (interrupted_in_filter()) throw Interrupted{};
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// `describe` is called with a StreamEdit, by this thread, or inside a filter by another one, later.
void edit(PythonRun& self, nb::object describe) {
    const auto held = hold(std::move(describe));
    const nb::gil_scoped_release release;
    self.run().edit([held](Edit& edit) {
        const nb::gil_scoped_acquire acquire;
        const nb::object shown = nb::cast(PythonEdit{&edit});
        struct End {
            PythonEdit& shown;
            ~End() { shown.edit = nullptr; }  // whoever keeps it is refused
        } end{nb::cast<PythonEdit&>(shown)};
        (*held)(shown);
    });
}

void finish(PythonRun& self) {
    without_interpreter([&] { self.run().finish(); });
}
void stop(PythonRun& self) {
    without_interpreter([&] { self.run().stop(); });
}

std::chrono::nanoseconds duration_of(double seconds) {
    if (!(seconds >= 0 && seconds <= 1e9)) throw UsageError("delay and period are in seconds, 0 to 1,000,000,000");
    return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

void bind_statistics(nb::module_& module) {
    final_class<FilterStatistics>(module, "FilterStatistics", "All copies of a filter together.")
        .def_ro("name", &FilterStatistics::name)
        .def_ro("copies", &FilterStatistics::copies)
        .def_ro("firings", &FilterStatistics::firings)
        .def_ro("failures", &FilterStatistics::failures, "Firings that failed.")
        .def_ro("dropped", &FilterStatistics::dropped, "Buffers that were sent to it and never read.")
        .def_ro("waiting", &FilterStatistics::waiting, "Buffers at its inputs now.")
        .def_ro("held_back", &FilterStatistics::held_back,
                "Buffers that it has written and that no sink has room for, now.")
        .def_ro("rate", &FilterStatistics::rate, "Firings a second.")
        .def_ro("service_us", &FilterStatistics::service_us,
                "Microseconds of a firing, on average over those that were timed; 0: none was.")
        .def_ro("load", &FilterStatistics::load, "Of one processor, for each copy.")
        .def_ro("waits_for_input", &FilterStatistics::waits_for_input, "Share of the time, over the copies.")
        .def_ro("waits_for_output", &FilterStatistics::waits_for_output,
                "Share of the time: room in a stream, or a buffer of its own pool.")
        .def_ro("waits_for_target", &FilterStatistics::waits_for_target,
                "Share of the time: it could fire, and no target was free.");
    final_class<StreamStatistics>(module, "StreamStatistics", "One stream.")
        .def_ro("source", &StreamStatistics::from, "'filter.port'")
        .def_ro("sink", &StreamStatistics::to, "'filter.port'")
        .def_ro("buffers", &StreamStatistics::buffers, "That have arrived.")
        .def_ro("posted", &StreamStatistics::posted, "Of these: to another thread, or to a filter without a place.")
        .def_ro("right_behind", &StreamStatistics::right_behind,
                "Of these: by pointer, and the sink fired right behind the firing that wrote them.")
        .def_ro("dropped", &StreamStatistics::dropped, "For lack of room.")
        .def_ro("capacity", &StreamStatistics::capacity,
                "Buffers that may wait at each sink now, on average over the sinks.")
        .def_ro("rate", &StreamStatistics::rate, "Buffers a second.")
        .def_ro("bytes_rate", &StreamStatistics::bytes_rate, "Bytes a second.");
    final_class<RunStatistics>(module, "RunStatistics", "What a run has done so far.")
        .def_ro("seconds", &RunStatistics::seconds)
        .def_ro("filters", &RunStatistics::filters)
        .def_ro("streams", &RunStatistics::streams)
        .def_ro("bottleneck", &RunStatistics::bottleneck,
                "The filter with the highest load for each copy; empty when nothing was timed yet.")
        .def_ro("lost", &RunStatistics::lost,
                "Buffers that waited at filters which were taken out, and that nobody could take.")
        .def("text", &RunStatistics::text, "A table for people.")
        .def("__str__", &RunStatistics::text)
        .def("__repr__", &RunStatistics::text)
        .def(
            "_repr_html_", [](nb::handle self) { return imported("penstock.notebooks", "table")(self); },
            nb::sig("def _repr_html_(self) -> str"), "Tables, for notebooks.");
    final_class<NodeStatistics>(module, "NodeStatistics", "What one node has done of a run, as it has measured it.")
        .def_ro("node", &NodeStatistics::node, "'program', or 'decoders.2'")
        .def_ro("generation", &NodeStatistics::generation, "Which agent of it: from 1.")
        .def_ro("lost", &NodeStatistics::lost,
                "How it was lost while the run went on, and then `figures` are what it said last; or empty.")
        .def_ro("figures", &NodeStatistics::figures, "Of the copies there.");
}

}  // namespace

PythonRun start_on(nb::object machine_object, const std::function<void(LiveRun&)>& begin) {
    auto& machine = nb::cast<PythonMachine&>(machine_object);
    const auto live = std::make_shared<LiveRun>();
    live->machine = machine.live();
    static_cast<void>(interrupted_in_filter());  // of a run before this one
    without_interpreter([&] {
        begin(*live);
        live->run().look_while_waiting(&look_for_signals);
    });
    machine.add_run(live);
    return {live, std::move(machine_object)};
}

LiveRun::~LiveRun() {
    const nb::gil_scoped_release release;
    if (origin.left_behind()) {
        static_cast<void>(new std::shared_future(std::move(ending)));  // never waited for: its thread is not here
    } else if (ending.valid()) {
        run().stop();
        ending = {};
    }
    application.reset();
    of_graph.reset();
}

void LiveRun::stop() {
    if (!origin.left_behind() && (application || of_graph)) run().stop();
}

void bind_stream_run(nb::module_& module) {
    bind_statistics(module);
    nb::class_<PythonRun> run(module, "StreamRun", "What penstock.Run has from here.");
    run.def(nb::init<const PythonRun&>())
        .def_ro("_machine", &PythonRun::machine)
        .def("finish", &finish,
             "Closes the program's own writing ends, and returns when all filters have ended, running them in this\n"
             "thread too. Raises FilterFailed for the first firing that failed, StreamStalled when nothing can go on\n"
             "although the graph has not ended, KeyboardInterrupt on Ctrl-C (the graph goes on then).")
        .def(
            "close", [](PythonRun& self) { without_interpreter([&] { self.run().close(); }); },
            "Asks all sources to end; what is under way still goes through. Returns at once; finish() waits.")
        .def("stop", &stop,
             "Ends all filters without firing them again; what waits is dropped and counted. Returns when they have "
             "ended.")
        .def_prop_ro("ended", [](PythonRun& self) { return self.run().ended(); })
        .def("_edit", &edit)
        .def("_send",
             [](PythonRun& self, const std::string& name, nb::handle value, const std::string& to) {
                 const Event event{name, setting_of(value)};
                 without_interpreter([&] { self.run().send(event, to); });
             })
        .def(
            "_send_after",
            [](PythonRun& self, double delay, const std::string& name, nb::handle value, const std::string& to,
               double period) {
                const Event event{name, setting_of(value)};
                without_interpreter([&] { self.run().send_after(duration_of(delay), event, to, duration_of(period)); });
            })
        .def(
            "statistics", [](PythonRun& self) { return without_interpreter([&] { return self.run().statistics(); }); },
            "What has happened so far; text() makes a table of it.")
        .def(
            "statistics_by_node",
            [](PythonRun& self) { return without_interpreter([&] { return self.run().statistics_by_node(); }); },
            "The same for each node apart: the program first, then nodes with a part in the run in their order, lost "
            "ones\nbehind those that took their places. Nodes say their figures four times a second, and at their end.")
        .def("_description",
             [](PythonRun& self) { return object_of(without_interpreter([&] { return self.run().description(); })); })
        .def(
            "json",
            [](PythonRun& self) {
                return without_interpreter([&] {
                    const auto figures = self.run().statistics();
                    return json_of(self.run().description(), &figures);
                });
            },
            "The graph as it is now, with its figures and its drawing, as save() writes it.")
        .def(
            "report", [](PythonRun& self) { return without_interpreter([&] { return self.run().report(); }); },
            "What each filter is doing and what it waits for, a line each.")
        .def_prop_ro(
            "name",
            [](PythonRun& self) {  // as the environment gives it, which may be no UTF-8
                const std::string name = self.run().name();
                return nb::steal<nb::str>(
                    PyUnicode_DecodeFSDefaultAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
            },
            "Under which other processes find it; empty: they cannot.")
        .def(
            "save",
            [](PythonRun& self, const std::filesystem::path& path) {
                without_interpreter([&] { self.run().save(path.string()); });
            },
            nb::arg("path"), "Writes the graph and its figures to a file, for `penstock draw`. Raises SystemError.")
        .def(
            "draw", [](PythonRun& self) { return without_interpreter([&] { return self.run().drawing(); }); },
            "The graph as it is now, with its figures, in the language of graphviz.");
    add_block(run, "def __enter__(self) -> StreamRun",
              [](PythonRun& self, nb::handle error) { error.is_none() ? finish(self) : stop(self); });
}

}  // namespace penstock::python
