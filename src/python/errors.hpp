// Exceptions of C++ as the classes of penstock.errors, with their facts as attributes.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

#include "penstock/error.hpp"

namespace penstock::python {

namespace nb = nanobind;

/// penstock.errors.NAME with the text of this exception.
nb::object error_object(const char* name, const std::exception& error);
/// Python raises it when the function returns.
void raise(const nb::object& error);
/// The TaskFailed of Python, with its cause.
nb::object failure_object(const TaskFailed& error);

void bind_errors(nb::module_& module);

}  // namespace penstock::python
