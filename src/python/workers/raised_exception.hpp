// The exception that Python has raised, as an object.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace penstock::python {

namespace nb = nanobind;

/// Takes the exception that was raised, with its traceback.
inline nb::object raised_exception() {
#if PY_VERSION_HEX >= 0x030c0000
    return nb::steal(PyErr_GetRaisedException());
#else
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != nullptr) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return nb::steal(value);
#endif
}

/// What an exception says of itself; nothing where its text raises something.
inline std::string said_by(nb::handle error) {
    std::string said;
    const auto text = nb::steal(PyObject_Str(error.ptr()));
    const auto bytes = nb::steal<nb::bytes>(
        text.is_valid() ? PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace") : nullptr);
    if (bytes.is_valid()) said.assign(bytes.c_str(), bytes.size());
    PyErr_Clear();
    return said;
}

/// Its type, and that.
inline std::string described_exception(nb::handle error) {
    const auto kind = nb::cast<std::string>(nb::type_name(error.type()));
    const auto said = said_by(error);
    return said.empty() ? kind : kind + ": " + said;
}

}  // namespace penstock::python
