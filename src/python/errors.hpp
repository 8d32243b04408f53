// Exceptions of C++ as the classes of penstock.errors, with their facts as attributes.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
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
