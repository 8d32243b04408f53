// Applications that are written down, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "apps/written.hpp"
#include "penstock/application.hpp"
#include "python/calls/python_machine.hpp"
#include "python/language/application.hpp"

namespace penstock::python {

void bind_language(nb::module_& module) {
    module.def(
        "check_application",
        [](const std::string& path, const Pairs& settings, const Folders& folders) {
            std::vector<Finding> findings;
            {
                const nb::gil_scoped_release release;
                findings = apps::check(path, {.settings = settings, .folders = folders});
            }
            return list_of(findings);
        },
        nb::arg("path"), nb::arg("settings") = Pairs(), nb::arg("folders") = Folders(),
        nb::sig("def check_application(path: str, settings: list[tuple[str, str]] = [], folders: list[str] = []) -> "
                "list[dict[str, Any]]"),
        "What is wrong with an application: kind ('error', 'warning'), file, line, column, message, text. Raises "
        "OSError when it cannot be read.");
    bind_application(module);
}

}  // namespace penstock::python
