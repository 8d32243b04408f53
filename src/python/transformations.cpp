// What is made of applications that are written down, for Python: other applications, programs, drawings, profiles.
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

#include "penstock/application.hpp"
#include "penstock/application_profile.hpp"
#include "penstock/application_source.hpp"
#include "penstock/transformation.hpp"
#include "python_machine.hpp"

namespace penstock::python {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Folders = std::vector<std::string>;

nb::list passes() {
    nb::list all;
    for (const auto& each : transformations()) all.append(nb::make_tuple(each.name, each.purpose, each.argument));
    return all;
}

std::string transformed(const std::string& path, const std::vector<std::string>& names, const Pairs& settings, const Folders& folders,
                        const std::string& profile) {
    const nb::gil_scoped_release release;
    return transform(path, names, {.application = {.settings = settings, .folders = folders}, .profile = profile});
}

nb::tuple compiled(const std::string& path, const Pairs& settings, const Folders& folders, const Pairs& types) {
    ApplicationSource made;
    {
        const nb::gil_scoped_release release;
        made = source_of(path, {.application = {.settings = settings, .folders = folders}, .types = types});
    }
    return nb::make_tuple(made.program, made.build, made.fixed);
}

std::string drawn(const std::string& path, const Pairs& settings, const Folders& folders) {
    const nb::gil_scoped_release release;
    return drawing_of(Application::read(path, {.settings = settings, .folders = folders}));
}

/// Runs it, and looks at it meanwhile; the first interruption asks the sources to end, and leaves the next one to the system.
std::string profiled(const PythonMachine& machine, const std::string& path, const Pairs& settings, const Folders& folders) {
    const auto live = machine.live();
    const nb::gil_scoped_release release;
    const auto application = Application::read(path, {.settings = settings, .folders = folders});
    ApplicationProfile profile(application.name(), live->targets());
    auto running = application.start(*live);
    std::atomic<bool> over{false};
    std::exception_ptr failure;
    std::thread waiting([&] {
        try {
            running.finish();
        } catch (...) {
            failure = std::current_exception();
        }
        over.store(true, std::memory_order_release);
    });
    bool closed = false;
    while (!over.load(std::memory_order_acquire)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (over.load(std::memory_order_acquire)) break;
        profile.look(running.run().statistics());
        if (closed) continue;
        const nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() == 0) continue;
        PyErr_Clear();
        const auto signals = nb::module_::import_("signal");
        signals.attr("signal")(signals.attr("SIGINT"), signals.attr("SIG_DFL"));
        running.run().close();
        closed = true;
    }
    waiting.join();
    if (failure != nullptr) std::rethrow_exception(failure);
    profile.look(running.run().statistics());
    return profile.text();
}

}  // namespace

void bind_transformations(nb::module_& module) {
    module.def("passes", &passes, nb::sig("def passes() -> list[tuple[str, str, str]]"),
               "The passes over applications: name, purpose, and what may stand behind 'NAME='.");
    module.def("transform_application", &transformed, nb::arg("path"), nb::arg("passes"), nb::arg("settings") = Pairs(),
               nb::arg("folders") = Folders(), nb::arg("profile") = "",
               nb::sig("def transform_application(path: str, passes: list[str], settings: list[tuple[str, str]] = [], folders: list[str] = [], "
                       "profile: str = '') -> str"),
               "An application after these passes, as XML. Settings become defaults; `profile`: what profile_application() returned.");
    module.def("compile_application", &compiled, nb::arg("path"), nb::arg("settings") = Pairs(), nb::arg("folders") = Folders(), nb::arg("types") = Pairs(),
               nb::sig("def compile_application(path: str, settings: list[tuple[str, str]] = [], folders: list[str] = [], "
                       "types: list[tuple[str, str]] = []) -> tuple[str, str, list[str]]"),
               "An application as a C++ program: main.cpp, CMakeLists.txt, and the names of the parameters that are fixed in it.");
    module.def("application_drawing", &drawn, nb::arg("path"), nb::arg("settings") = Pairs(), nb::arg("folders") = Folders(),
               nb::sig("def application_drawing(path: str, settings: list[tuple[str, str]] = [], folders: list[str] = []) -> str"),
               "An application in the language of graphviz.");
    module.def("profile_application", &profiled, nb::arg("machine"), nb::arg("path"), nb::arg("settings") = Pairs(), nb::arg("folders") = Folders(),
               nb::sig("def profile_application(machine: Machine, path: str, settings: list[tuple[str, str]] = [], folders: list[str] = []) -> str"),
               "Runs an application to its end, and returns its profile as XML. An interruption ends its sources.");
}

}  // namespace penstock::python
