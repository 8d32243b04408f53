// Component classes of applications, for Python: the list of them, and those of libraries, programs and packages.
#include "penstock/components.hpp"

#include "penstock/component_classes.hpp"
#include "python/calls/python_machine.hpp"
#include "python/streams/filter_spec.hpp"

namespace penstock::python {
namespace {

/// The classes of installed packages. penstock.component_classes looks for them, and imports a package when one of its
/// classes is named.
class Packages final : public ComponentSource {
  public:
    std::vector<std::string> names() const override {
        if (!nb::is_alive()) return {};
        const nb::gil_scoped_acquire acquire;
        return nb::cast<std::vector<std::string>>(imported("penstock.component_classes", "names_of_packages")());
    }
    std::optional<Made> make(const std::string& name) const override {
        if (!nb::is_alive()) return std::nullopt;
        const nb::gil_scoped_acquire acquire;
        const nb::object made = imported("penstock.component_classes", "class_of_package")(name);
        if (made.is_none()) return std::nullopt;
        return Made{nb::cast<std::string>(made[0]),
                    nb::cast<const PythonKind&>(made[1]).kind,
                    {ComponentOrigin::Kind::python, nb::cast<std::string>(made[2])}};
    }
};

std::string words_of(const ComponentOrigin& origin) {
    if (origin.kind == ComponentOrigin::Kind::program) return "built in";
    if (origin.kind == ComponentOrigin::Kind::library) return "library " + origin.name;
    return origin.name.empty() ? "this program" : "package " + origin.name;
}

nb::list ports_of(const std::vector<PortDescription>& ports) {
    nb::list all;
    for (const auto& port : ports) all.append(nb::make_tuple(port.name, std::string(port.element.name), port.required));
    return all;
}

/// Names, with what their values are.
nb::list events_of(const std::vector<EventDescription>& events) {
    constexpr const char* kinds[] = {"true or false", "an integer", "a number", "a text"};
    nb::list all;
    for (const auto& event : events) all.append(nb::make_tuple(event.name, kinds[event.like.index()]));
    return all;
}

nb::list components() {
    nb::list all;
    const auto& known = Components::known();
    for (const auto& name : known.names()) {
        const auto* const found = known.find(name);
        if (found == nullptr) continue;  // of a package that cannot be imported, which has been told
        const auto& filter = found->filter;
        all.append(dict_of("name", found->name, "documentation", found->documentation, "origin",
                           words_of(found->origin), "inputs", ports_of(filter.inputs), "outputs",
                           ports_of(filter.outputs), "settings", list_of(filter.settings), "events",
                           events_of(filter.event_outputs), "may_be_copied", filter.may_be_copied));
    }
    return all;
}

}  // namespace

void bind_components(nb::module_& module) {
    register_component_classes();
    Components::known().add_source(std::make_shared<Packages>());
    module.def("components", &components, nb::sig("def components() -> list[dict[str, Any]]"),
               "The component classes of applications, by name: name, documentation, origin, inputs and outputs\n"
               "(name, type, required), settings (name, value, unit, least, most, choices, doc), events (name,\n"
               "kind of value) and may_be_copied. Imports the\n"
               "packages that have some.");
    module.def(
        "load_components", [](const std::string& path) { return Components::known().load(path); },
        "What penstock.load_components() stands on.");
    module.def(
        "register_component",
        [](const std::string& name, const std::string& documentation, const PythonKind& kind) {
            Components::known().add_kind(name, documentation, kind.kind, {ComponentOrigin::Kind::python, ""});
        },
        "What penstock.register_component() stands on.");
}

}  // namespace penstock::python
