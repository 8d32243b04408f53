// What bindings have in common: words for choices, arguments that may be left out, and `with` blocks.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "penstock/error.hpp"

namespace penstock::python {

namespace nb = nanobind;

/// The values of an option, by their words in Python.
template <class Choice, std::size_t n>
using Choices = std::array<std::pair<const char*, Choice>, n>;

/// Throws UsageError for another word.
template <class Choice, std::size_t n>
Choice choose(const char* option, const std::string& word, const Choices<Choice, n>& choices) {
    std::string known;
    for (const auto& [name, choice] : choices) {
        if (word == name) return choice;
        known += (known.empty() ? "" : ", ") + std::string(name);
    }
    throw UsageError(std::string(option) + " must be one of " + known + ", not " + word);
}
template <class Choice, std::size_t n>
Choice choose(const char* option, nb::handle given, const Choices<Choice, n>& choices) {
    return choose(option, nb::cast<std::string>(nb::str(given)), choices);
}

template <class Choice, std::size_t n>
const char* word_of(Choice choice, const Choices<Choice, n>& choices) {
    for (const auto& [name, each] : choices)
        if (each == choice) return name;
    return "";
}

inline void put_all(nb::dict&) {}
template <class Value, class... Rest>
void put_all(nb::dict& made, const char* name, Value&& value, Rest&&... rest) {
    made[name] = std::forward<Value>(value);
    put_all(made, std::forward<Rest>(rest)...);
}
/// A dict of names and values, given by turns.
template <class... Items>
nb::dict dict_of(Items&&... items) {
    nb::dict made;
    put_all(made, std::forward<Items>(items)...);
    return made;
}

/// An argument that is None unless it is given.
inline nb::arg_v or_none(const char* name) { return nb::arg(name).none() = nb::none(); }

/// The end of `with`: `leave` is called with the object and the exception that ends the block, or None.
template <class T, class Leave>
void add_exit(nb::class_<T>& bound, Leave leave) {
    bound.def(
        "__exit__", [leave](T& self, nb::handle, nb::handle error, nb::handle) { leave(self, error); },
        nb::arg("type").none(), nb::arg("error").none(), nb::arg("traceback").none(),
        nb::sig("def __exit__(self, type: Any, error: Any, traceback: Any) -> None"));
}

/// Makes `with object:` work. `enter`: called with the object at the beginning; `signature`: of that.
template <class T, class Enter, class Leave>
void add_block(nb::class_<T>& bound, const char* signature, Enter enter, Leave leave) {
    bound.def(
        "__enter__",
        [enter](nb::handle self) {
            enter(nb::cast<T&>(self));
            return nb::borrow(self);
        },
        nb::sig(signature));
    add_exit(bound, leave);
}
inline constexpr auto nothing = [](auto&) {};

}  // namespace penstock::python
