#include "python/calls/body.hpp"

namespace penstock::python {
namespace {

// Borrowed from the module, which lives as long as it is used.
PyObject* known_bodies = nullptr;  // id -> (object, body, its argtypes or None)
constexpr Py_ssize_t most_known_bodies = 1024;

Parameter parameter_named(std::string_view text, const std::string& signature) {
    Parameter parameter;
    const std::string whole{text};
    if (text.starts_with("const ")) {
        parameter.constant = true;
        text.remove_prefix(6);
    }
    if (text.ends_with("*")) {
        parameter.pointer = true;
        text.remove_suffix(1);
    }
    parameter.element = element_named(text);
    if (parameter.element.kind == ElementKind::other && !(parameter.pointer && text == "void"))
        throw UsageError("the parameter type " + whole + " of " + signature +
                         " is not known here; use a NumPy type name or a pointer to one");
    return parameter;
}

nb::object known_body(nb::handle object) {
    const auto key = nb::steal(PyLong_FromVoidPtr(object.ptr()));
    PyObject* const found = PyDict_GetItemWithError(known_bodies, key.ptr());
    if (found == nullptr) {
        if (PyErr_Occurred()) throw nb::python_error();
        return {};
    }
    const auto entry = nb::borrow<nb::tuple>(found);
    // The declared arguments of a ctypes function can be changed after its first use.
    if (!entry[2].is_none() && !nb::getattr(object, "argtypes", nb::none()).is(entry[2])) return {};
    return entry[1];
}

}  // namespace

Body::Body(std::uint64_t address, const std::string& signature, const nb::list& parameters, const std::string& name,
           nb::object keep)
    : address_(address), keep_(std::move(keep)) {
    if (address == 0) throw UsageError("the address of " + name + " is 0; give it the address of a function");
    std::vector<Parameter> types;
    for (nb::handle parameter : parameters)
        types.push_back(parameter_named(nb::cast<std::string>(parameter), signature));
    procedure_ = &Procedure::find(name, signature, types);
}

nb::object body_of(nb::handle object, nb::handle signature) {
    if (exactly<Body>(object) != nullptr) {
        if (!signature.is_none()) throw UsageError("a penstock.Body has its signature already; leave out signature=");
        return nb::borrow(object);
    }
    if (signature.is_none())
        if (nb::object known = known_body(object); known.is_valid()) return known;
    nb::object body = imported("penstock.body", "compiled")(object, signature);
    if (signature.is_none()) {
        if (PyDict_Size(known_bodies) >= most_known_bodies) PyDict_Clear(known_bodies);
        const auto key = nb::steal(PyLong_FromVoidPtr(object.ptr()));
        const auto entry = nb::make_tuple(object, body, nb::getattr(object, "argtypes", nb::none()));
        if (PyDict_SetItem(known_bodies, key.ptr(), entry.ptr()) != 0) throw nb::python_error();
    }
    return body;
}

void bind_bodies(nb::module_& module) {
    note_class(
        final_class<Body>(module, "Body",
                          "A compiled function that can be called as a task. Made by penstock.compiled().")
            .def(nb::init<std::uint64_t, const std::string&, const nb::list&, const std::string&, nb::object>(),
                 nb::arg("address"), nb::arg("signature"), nb::arg("parameters"), nb::arg("name"),
                 nb::arg("keep").none(),
                 nb::sig("def __init__(self, address: int, signature: str, parameters: list[str], name: str, keep: "
                         "Any) -> None"),
                 "Prefer penstock.compiled(). `parameters`: NumPy type names, 'float32*' and 'const float32*' for "
                 "pointers.")
            .def_prop_ro("address", &Body::address, "Address of the function.")
            .def_prop_ro(
                "name", [](const Body& body) { return body.procedure().name(); }, "Its name in traces and errors.")
            .def_prop_ro(
                "signature", [](const Body& body) { return body.procedure().signature(); }, "Its C signature.")
            .def_prop_ro("function", &Body::keep, nb::sig("def function(self) -> Any"),
                         "The Python object that owns the code, or None.")
            .def("__repr__", [](const Body& body) {
                return "penstock.Body(" + body.procedure().name() + ": " + body.procedure().signature() + ")";
            }));
    module.def("_body_raised_address", [] {
        void (*const raised)() = [] { body_raised = true; };
        return reinterpret_cast<std::uintptr_t>(raised);
    });
    nb::dict known;
    known_bodies = known.ptr();
    module.attr("_known_bodies") = known;
}

}  // namespace penstock::python
