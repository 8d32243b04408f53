// Applications that are written down, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/written.hpp"
#include "filter_spec.hpp"
#include "penstock/application.hpp"
#include "python_machine.hpp"

namespace penstock::python {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

nb::list list_of(const std::vector<Finding>& findings) {
    nb::list all;
    for (const auto& each : findings) {
        nb::dict entry;
        entry["kind"] = each.kind == Finding::Kind::error ? "error" : "warning";
        entry["file"] = each.where.file;
        entry["line"] = each.where.line;
        entry["column"] = each.where.column;
        entry["message"] = each.message;
        entry["text"] = each.text();
        all.append(entry);
    }
    return all;
}

nb::list ports_of(const std::vector<PortDescription>& ports) {
    nb::list all;
    for (const auto& port : ports) all.append(nb::make_tuple(port.name, std::string(port.element.name), port.required));
    return all;
}

nb::list components() {
    nb::list all;
    const auto& known = Components::known();
    for (const auto& name : known.names()) {
        const auto& each = *known.find(name);
        nb::dict entry;
        entry["name"] = each.name;
        entry["documentation"] = each.documentation;
        entry["inputs"] = ports_of(each.filter.inputs);
        entry["outputs"] = ports_of(each.filter.outputs);
        nb::list settings;
        for (const auto& setting : each.filter.settings) {
            settings.append(nb::make_tuple(setting.name, object_of(setting.value), setting.limits.unit, setting.limits.least, setting.limits.most));
        }
        entry["settings"] = settings;
        entry["may_be_copied"] = each.filter.may_be_copied;
        all.append(entry);
    }
    return all;
}

/// Runs it, and looks for signals meanwhile: the first interruption asks the sources to end, and leaves the next one to the system.
bool run(const PythonMachine& machine, const std::string& path, const Pairs& settings, const std::vector<std::string>& folders, const std::string& graph) {
    const auto live = machine.live();
    const nb::gil_scoped_release release;
    const auto application = apps::read_application(path, {.settings = settings, .folders = folders});
    auto running = application.start(*live);
    std::atomic<bool> over{false};
    std::exception_ptr failure;
    std::thread waiting([&] {
        try {
            running.finish();
            if (!graph.empty()) running.run().save(graph);
        } catch (...) {
            failure = std::current_exception();
        }
        over.store(true, std::memory_order_release);
    });
    bool interrupted = false;
    while (!over.load(std::memory_order_acquire)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        if (interrupted) continue;
        {
            const nb::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() == 0) continue;
            PyErr_Clear();
            const auto signals = nb::module_::import_("signal");
            signals.attr("signal")(signals.attr("SIGINT"), signals.attr("SIG_DFL"));
        }
        interrupted = true;
        running.run().close();
    }
    waiting.join();
    if (failure != nullptr) std::rethrow_exception(failure);
    return interrupted;
}

}  // namespace

void bind_language(nb::module_& module) {
    apps::register_components();
    module.def("components", &components, nb::sig("def components() -> list[dict[str, Any]]"),
               "The component classes of applications, by name: name, documentation, inputs and outputs (name, type, required), settings (name, value,\n"
               "unit, least, most) and may_be_copied.");
    module.def("check_application", [](const std::string& path, const Pairs& settings, const std::vector<std::string>& folders) {
                   std::vector<Finding> findings;
                   {
                       const nb::gil_scoped_release release;
                       findings = apps::check(path, {.settings = settings, .folders = folders});
                   }
                   return list_of(findings);
               }, nb::arg("path"), nb::arg("settings") = Pairs(), nb::arg("folders") = std::vector<std::string>(),
               nb::sig("def check_application(path: str, settings: list[tuple[str, str]] = [], folders: list[str] = []) -> list[dict[str, Any]]"),
               "What is wrong with an application: kind ('error', 'warning'), file, line, column, message, text. Raises OSError when it cannot be read.");
    module.def("run_application", &run, nb::arg("machine"), nb::arg("path"), nb::arg("settings") = Pairs(),
               nb::arg("folders") = std::vector<std::string>(), nb::arg("graph") = "",
               nb::sig("def run_application(machine: Machine, path: str, settings: list[tuple[str, str]] = [], folders: list[str] = [], graph: str = '') -> bool"),
               "Runs an application to its end. `graph`: a file to which the graph and its figures are written. True: it was interrupted, and ended\n"
               "early. Raises UsageError with all errors.");
}

}  // namespace penstock::python
