// Applications that are written down, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "application.hpp"
#include "apps/written.hpp"
#include "filter_spec.hpp"
#include "penstock/application.hpp"
#include "python_machine.hpp"

namespace penstock::python {
namespace {

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

}  // namespace

void bind_language(nb::module_& module) {
    apps::register_components();
    module.def("components", &components, nb::sig("def components() -> list[dict[str, Any]]"),
               "The component classes of applications, by name: name, documentation, inputs and outputs (name, type, required), settings (name, value,\n"
               "unit, least, most) and may_be_copied.");
    module.def("check_application", [](const std::string& path, const Pairs& settings, const Folders& folders) {
                   std::vector<Finding> findings;
                   {
                       const nb::gil_scoped_release release;
                       findings = apps::check(path, {.settings = settings, .folders = folders});
                   }
                   return list_of(findings);
               }, nb::arg("path"), nb::arg("settings") = Pairs(), nb::arg("folders") = Folders(),
               nb::sig("def check_application(path: str, settings: list[tuple[str, str]] = [], folders: list[str] = []) -> list[dict[str, Any]]"),
               "What is wrong with an application: kind ('error', 'warning'), file, line, column, message, text. Raises OSError when it cannot be read.");
    bind_application(module);
}

}  // namespace penstock::python
