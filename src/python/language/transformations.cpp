// What is made of applications that are written down, for Python: other applications, programs, drawings, profiles.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "penstock/application_profile.hpp"
#include "penstock/application_source.hpp"
#include "penstock/transformation.hpp"
#include "python/calls/python_machine.hpp"
#include "python/language/application.hpp"
#include "python/streams/stream_run.hpp"

namespace penstock::python {
namespace {

nb::list passes() {
    nb::list all;
    for (const auto& each : transformations()) all.append(nb::make_tuple(each.name, each.purpose, each.argument));
    return all;
}

std::string transformed(const std::string& path, const std::vector<std::string>& names, const Pairs& settings,
                        const Folders& folders, const std::string& profile) {
    const nb::gil_scoped_release release;
    const TransformOptions options{.application = {.settings = settings, .folders = folders}, .profile = profile};
    const char* const text = known_text(path);
    return text == nullptr ? transform(path, names, options) : transform_text(text, names, path, options);
}

nb::tuple compiled(const std::string& path, const Pairs& settings, const Folders& folders, const Pairs& types) {
    ApplicationSource made;
    {
        const nb::gil_scoped_release release;
        const SourceOptions options{.application = {.settings = settings, .folders = folders}, .types = types};
        const char* const text = known_text(path);
        made = text == nullptr ? source_of(path, options) : source_of_text(text, path, options);
    }
    return nb::make_tuple(made.program, made.build, made.fixed);
}

}  // namespace

void bind_transformations(nb::module_& module) {
    module.def("passes", &passes, nb::sig("def passes() -> list[tuple[str, str, str]]"),
               "The passes over applications: name, purpose, and what may stand behind 'NAME='.");
    module.def("transform_application", &transformed, nb::arg("path"), nb::arg("passes"), nb::arg("settings") = Pairs(),
               nb::arg("folders") = Folders(), nb::arg("profile") = "",
               nb::sig("def transform_application(path: str, passes: list[str], settings: list[tuple[str, str]] = "
                       "[], folders: list[str] = [], profile: str = '') -> str"),
               "An application after these passes, as XML. Settings become defaults; `profile`: what "
               "ApplicationProfile.text() returned.");
    module.def(
        "compile_application", &compiled, nb::arg("path"), nb::arg("settings") = Pairs(),
        nb::arg("folders") = Folders(), nb::arg("types") = Pairs(),
        nb::sig("def compile_application(path: str, settings: list[tuple[str, str]] = [], folders: list[str] = [], "
                "types: list[tuple[str, str]] = []) -> tuple[str, str, list[str]]"),
        "An application as a C++ program: main.cpp, CMakeLists.txt, and the names of the parameters that are fixed "
        "in it.");
    nb::class_<ApplicationProfile>(module, "ApplicationProfile", nb::is_final(),
                                   "What a run of an application was like.")
        .def(nb::init<std::string, int>(), nb::arg("application"), nb::arg("targets"))
        .def(
            "look",
            [](ApplicationProfile& self, const PythonRun& run) {
                const auto now = without_interpreter([&] { return run.run().statistics(); });
                self.look(now);
            },
            nb::arg("run"), nb::sig("def look(self, run: StreamRun) -> None"),
            "Lengths of queues are those that looks see.")
        .def("text", &ApplicationProfile::text, "As XML.");
}

}  // namespace penstock::python
