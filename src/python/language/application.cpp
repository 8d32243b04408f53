// Applications that are written down and their runs, for Python.
#include "python/language/application.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "penstock/application.hpp"
#include "python/binding.hpp"
#include "python/calls/python_machine.hpp"
#include "python/streams/filter_spec.hpp"
#include "python/streams/stream_run.hpp"

namespace penstock::python {
namespace {

struct PythonApplicationRun {
    PythonRun run;

    ApplicationRun& application() const noexcept { return *run.live->application; }
};

PythonApplicationRun start(const Application& self, nb::object machine_object, const std::string& name) {
    auto& machine = nb::cast<PythonMachine&>(machine_object);
    const auto live = std::make_shared<LiveRun>();
    live->machine = machine.live();
    static_cast<void>(interrupted_in_filter());  // of a run before this one
    {
        const nb::gil_scoped_release release;
        live->application.emplace(self.start(*live->machine, {.name = name}));
        live->run().look_while_waiting(&look_for_signals);
    }
    machine.add_run(live);
    return {{live, std::move(machine_object)}};
}

/// In short pieces, because a signal interrupts no wait.
bool wait_for(PythonApplicationRun& self, double seconds) {
    if (!(seconds >= 0)) throw UsageError("an application is waited for for at least 0 seconds");
    constexpr auto piece = std::chrono::milliseconds(50);
    auto& live = *self.run.live;
    if (!live.ending) live.ending = std::make_unique<EndWaiter>(self.application());
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::min(seconds, 1e9));
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::nanoseconds>(until - std::chrono::steady_clock::now());
        const bool over = without_interpreter([&] {
            return live.ending->wait_for(
                std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0), piece));
        });
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (over || left <= piece) return over;
    }
}

void finish(PythonApplicationRun& self) {
    if (!self.run.live->ending) return without_interpreter([&] { self.application().finish(); });
    while (!wait_for(self, 1)) {
    }
}

/// A dict for each: kind ('error', 'warning'), file, line, column, message, text.
nb::list list_of(const std::vector<Finding>& findings) {
    nb::list all;
    for (const auto& each : findings)
        all.append(dict_of("kind", each.kind == Finding::Kind::error ? "error" : "warning", "file", each.where.file,
                           "line", each.where.line, "column", each.where.column, "message", each.message, "text",
                           each.text()));
    return all;
}

}  // namespace

void bind_language(nb::module_& module) {
    module.def(
        "check_application",
        [](const std::string& path, const Pairs& settings, const Folders& folders) {
            return list_of(without_interpreter([&] {
                const ApplicationOptions options{.settings = settings, .folders = folders};
                const char* const text = known_text(path);
                return text == nullptr ? check_application(path, options) : check_application_text(text, path, options);
            }));
        },
        nb::arg("path"), nb::arg("settings") = Pairs(), nb::arg("folders") = Folders(),
        nb::sig("def check_application(path: str, settings: list[tuple[str, str]] = [], folders: list[str] = []) -> "
                "list[dict[str, Any]]"),
        "What is wrong with an application: kind ('error', 'warning'), file, line, column, message, text. Raises "
        "OSError when it cannot be read.");
    nb::class_<Application>(module, "Application", nb::is_final(), "What penstock.Application stands on.")
        .def_static(
            "read",
            [](const std::string& path, const Pairs& settings, const Folders& folders) {
                return without_interpreter([&] {
                    const ApplicationOptions options{.settings = settings, .folders = folders};
                    const char* const text = known_text(path);
                    return text == nullptr ? Application::read(path, options) : Application::parse(text, path, options);
                });
            },
            nb::arg("path"), nb::arg("settings") = Pairs(), nb::arg("folders") = Folders(),
            nb::sig(
                "def read(path: str, settings: list[tuple[str, str]] = [], folders: list[str] = []) -> Application"))
        .def_static(
            "parse",
            [](const std::string& text, const std::string& file, const Pairs& settings, const Folders& folders) {
                return without_interpreter(
                    [&] { return Application::parse(text, file, {.settings = settings, .folders = folders}); });
            },
            nb::arg("text"), nb::arg("file"), nb::arg("settings") = Pairs(), nb::arg("folders") = Folders(),
            nb::sig("def parse(text: str, file: str, settings: list[tuple[str, str]] = [], folders: list[str] = []) "
                    "-> Application"))
        .def("name", &Application::name)
        .def("events", &Application::events)
        .def("options", &Application::options, nb::sig("def options(self) -> list[tuple[str, bool]]"))
        .def(
            "warnings", [](const Application& self) { return list_of(self.warnings()); },
            nb::sig("def warnings(self) -> list[dict[str, Any]]"))
        .def("needs_processes", &Application::needs_processes)
        .def("to_xml", [](const Application& self) { return to_xml(self); })
        .def("drawing", [](const Application& self) { return drawing_of(self); })
        .def(
            "equals", [](const Application& self, const Application& other) { return self == other; }, nb::arg("other"))
        .def("start", &start, nb::arg("machine"), nb::arg("name") = "",
             nb::sig("def start(self, machine: Machine, name: str = '') -> ApplicationRun"));
    nb::class_<PythonApplicationRun>(module, "ApplicationRun", nb::is_final(),
                                     "What penstock.ApplicationRun stands on.")
        .def("finish", &finish)
        .def("wait", &wait_for, nb::arg("seconds"), "True: it has ended. Raises what finish() raises.")
        .def(
            "send",
            [](PythonApplicationRun& self, const std::string& name, nb::handle value) {
                const Event event{name, setting_of(value)};
                without_interpreter([&] { self.application().send(event); });
            },
            nb::arg("name"), nb::arg("value"),
            nb::sig("def send(self, name: str, value: bool | int | float | str) -> None"))
        .def("settle", [](PythonApplicationRun& self) { without_interpreter([&] { self.application().settle(); }); })
        .def(
            "is_on",
            [](PythonApplicationRun& self, const std::string& option) { return self.application().is_on(option); },
            nb::arg("option"))
        .def("run", [](PythonApplicationRun& self) { return self.run; }, nb::sig("def run(self) -> StreamRun"));
}

}  // namespace penstock::python
