// Exceptions of C++ as the classes of penstock.errors, with their facts as attributes; and what Python has raised.
#pragma once

#include <chrono>
#include <vector>

#include "penstock/detail/task/entry.hpp"
#include "python/binding.hpp"

namespace penstock::python {

/// What an exception says; names that others gave may be no UTF-8.
nb::object text_of(const std::exception& error);
inline const std::string& text_of(const std::string& text) { return text; }

// Facts as Python has them.
template <class Value>
const Value& fact_of(const Value& value) {
    return value;
}
inline double fact_of(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }
/// The exception that ended a task, a rank or a filter, with its own facts.
nb::object fact_of(const std::exception_ptr& cause);

/// penstock.errors.NAME with this text, or that of an exception. `facts`: names and values by turns, its attributes.
template <class Text, class... Facts>
nb::object error_object(const char* name, const Text& text, const Facts&... facts) {
    nb::object made = imported("penstock.errors", name)(text_of(text));
    by_turns([&](const char* fact, const auto& value) { made.attr(fact) = fact_of(value); }, facts...);
    return made;
}
/// Python raises it when the function returns.
[[noreturn]] void throw_object(nb::handle error);

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
    const auto kind = class_name(error);
    const auto said = said_by(error);
    return said.empty() ? kind : kind + ": " + said;
}

/// One class of errors: makes Python's of an error that belongs to it, and nothing of others.
using ErrorClass = std::function<nb::object(const Error&)>;

/// E, whose class in Python has the same name. `facts`: names and the members that tell them, by turns.
template <class E, class... Facts>
ErrorClass error_class(Facts... facts) {
    const auto told = []<class Fact>(const E& error, Fact fact) -> decltype(auto) {
        if constexpr (std::is_invocable_v<Fact, const E&>) return std::invoke(fact, error);
        else return fact;
    };
    return [=](const Error& error) {
        static constexpr auto type = entry_name::of_type<E>();
        static const std::string name(type.substr(type.rfind(':') + 1));
        const auto* const exact = dynamic_cast<const E*>(&error);
        return exact == nullptr ? nb::object() : error_object(name.c_str(), error, told(*exact, facts)...);
    };
}
/// In the order in which they are asked.
std::vector<ErrorClass>& error_classes();

void bind_errors(nb::module_& module);

}  // namespace penstock::python
