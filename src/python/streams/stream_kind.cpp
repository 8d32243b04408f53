// What penstock.filters says of a filter, as a kind of filter of the stream layer.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <utility>

#include "python/streams/stream_graph.hpp"

namespace penstock::python {
namespace {

std::size_t element_port(const nb::handle& port, std::vector<PortDescription>& ports,
                         std::vector<const ElementRow*>& elements) {
    const auto& element = element_of_streams(nb::cast<std::string>(port[1]));
    elements.push_back(&element);
    ports.push_back({nb::cast<std::string>(port[0]), element.type});
    return ports.size() - 1;
}

/// Reads what penstock.filters puts together.
std::shared_ptr<FilterSpec> spec_of(const nb::dict& given) {
    auto spec = std::make_shared<FilterSpec>();
    auto& description = spec->description;
    description.type = nb::cast<std::string>(given["type"]);
    for (nb::handle port : given["inputs"]) {
        auto& made = description.inputs[element_port(port, description.inputs, spec->inputs)];
        made.required = nb::cast<bool>(port[2]);
        made.at_least = nb::cast<std::size_t>(port[3]);
    }
    for (nb::handle port : given["outputs"]) {
        element_port(port, description.outputs, spec->outputs);
        Shape shape;
        const nb::object asked = port[2];
        if (nb::isinstance<nb::tuple>(asked)) shape.extents = nb::cast<std::vector<std::size_t>>(asked);
        else shape.as_input = nb::cast<std::size_t>(asked);
        spec->shapes.push_back(std::move(shape));
    }
    for (nb::handle setting : given["settings"])
        description.settings.push_back(
            {nb::cast<std::string>(setting[0]),
             setting_of(setting[1]),
             {nb::cast<std::string>(setting[2]), nb::cast<double>(setting[3]), nb::cast<double>(setting[4])}});
    description.may_be_copied = nb::cast<bool>(given["may_be_copied"]);
    description.on_any_input = nb::cast<bool>(given["on_any_input"]);
    spec->fills = nb::cast<bool>(given["fill"]);
    spec->in_place = nb::cast<bool>(given["in_place"]);
    spec->keeps_state = nb::cast<bool>(given["keeps_state"]);
    spec->make = hold(given["make"]);
    spec->limit = std::chrono::nanoseconds(std::llround(nb::cast<double>(given["time_limit"]) * 1e9));
    return spec;
}

}  // namespace

void bind_stream_kind(nb::module_& module) {
    nb::class_<PythonKind>(module, "FilterKind", nb::is_final(),
                           "How the copies of a filter are made. Made by penstock.filter().")
        .def_static(
            "function", [](const nb::dict& spec) { return PythonKind{function_kind(spec_of(spec))}; }, nb::arg("spec"))
        .def_static(
            "body",
            [](const nb::dict& spec, nb::object body) { return PythonKind{body_kind(spec_of(spec), std::move(body))}; },
            nb::arg("spec"), nb::arg("body"), nb::sig("def body(spec: dict, body: Any) -> FilterKind"))
        .def_static(
            "process",
            [](const nb::dict& spec) {
                auto site = std::make_shared<ProcessSite>();
                return PythonKind{process_kind(spec_of(spec), site), site};
            },
            nb::arg("spec"));
}

}  // namespace penstock::python
