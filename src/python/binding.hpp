// What bindings have in common: nanobind with the same casters in each file, words for choices, arguments that may be
// left out, and `with` blocks.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "penstock/error.hpp"

namespace penstock::python {

namespace nb = nanobind;

/// This name of a Python module.
inline nb::object imported(const char* module, const char* name) { return nb::module_::import_(module).attr(name); }
inline nb::object numpy(const char* name) { return imported("numpy", name); }

/// The name of an object's class, with its module.
inline std::string class_name(nb::handle object) { return nb::cast<std::string>(nb::type_name(object.type())); }

/// An object of Python that travels with what is not Python's, and may be let go by any thread.
using HeldObject = std::shared_ptr<nb::object>;

/// With the interpreter's lock. Whoever is last to let go takes it for that; when the interpreter is gone the object is
/// left alone.
inline HeldObject hold(nb::object object) {
    return {new nb::object(std::move(object)), [](nb::object* held) {
                if (!nb::is_alive()) {
                    static_cast<void>(held->release());
                    delete held;
                    return;
                }
                const nb::gil_scoped_acquire acquire;
                delete held;
            }};
}

template <class Work>
auto without_interpreter(Work&& work) {
    const nb::gil_scoped_release release;
    return work();
}

/// Acts at the end of a block.
template <class Action>
struct AtEnd {
    Action action;
    ~AtEnd() { action(); }
};

/// The export of an object's memory. Given back with the interpreter's lock.
class ExportedBuffer {
  public:
    ExportedBuffer() noexcept = default;
    ~ExportedBuffer() { release(); }
    ExportedBuffer(ExportedBuffer&& other) noexcept : buffer_(std::exchange(other.buffer_, Py_buffer{})) {}

    /// False where Python has raised something.
    bool request(nb::handle object, int flags) {
        release();
        if (PyObject_GetBuffer(object.ptr(), &buffer_, flags) == 0) return true;
        buffer_ = {};
        return false;
    }
    explicit operator bool() const noexcept { return buffer_.obj != nullptr; }
    const Py_buffer& get() const noexcept { return buffer_; }
    /// May run any Python code (the end of an array), so that nothing may be half done.
    void release() noexcept {
        Py_buffer buffer = std::exchange(buffer_, Py_buffer{});
        if (buffer.obj != nullptr) PyBuffer_Release(&buffer);
    }

  private:
    Py_buffer buffer_{};
};

/// The Python class of T. Borrowed from the module, which lives as long as it is used.
template <class T>
inline PyTypeObject* class_of = nullptr;
template <class T>
void note_class(const nb::class_<T>& bound) {
    class_of<T> = reinterpret_cast<PyTypeObject*>(bound.ptr());
}
/// The T behind an object of exactly that class, else null. Costs a comparison; only of classes that were noted.
template <class T>
T* exactly(nb::handle object) noexcept {
    return Py_TYPE(object.ptr()) == class_of<T> ? nb::inst_ptr<T>(object) : nullptr;
}

/// A class that cannot be derived from; its stub says so. One for each T.
template <class T, class... Extra>
nb::class_<T> final_class(nb::module_& module, const char* name, const Extra&... extra) {
    static const std::string declared = std::string("@final\nclass ") + name + "()";
    return nb::class_<T>(module, name, nb::is_final(), nb::sig(declared.c_str()), extra...);
}

/// The words of an enumeration in Python, in its own order.
template <auto last>
using Choices = std::array<std::string_view, static_cast<std::size_t>(last) + 1>;

/// Throws UsageError for another word.
template <class Choice, std::size_t n>
Choice choose(const char* option, const std::string& word, const std::array<std::string_view, n>& choices) {
    std::string known;
    for (std::size_t i = 0; i < n; ++i) {
        if (word == choices[i]) return static_cast<Choice>(i);
        known += (i == 0 ? "" : ", ") + std::string(choices[i]);
    }
    throw UsageError(std::string(option) + " must be one of " + known + ", not " + word);
}
template <class Choice, std::size_t n>
Choice choose(const char* option, nb::handle given, const std::array<std::string_view, n>& choices) {
    return choose<Choice>(option, nb::cast<std::string>(nb::str(given)), choices);
}

/// Calls `take(name, value)` for names and values that are given by turns.
template <class Take>
void by_turns(Take&&) {}
template <class Take, class Value, class... Rest>
void by_turns(Take&& take, const char* name, Value&& value, Rest&&... rest) {
    take(name, std::forward<Value>(value));
    by_turns(take, std::forward<Rest>(rest)...);
}
/// A dict of names and values, given by turns.
template <class... Items>
nb::dict dict_of(Items&&... items) {
    nb::dict made;
    by_turns([&](const char* name, auto&& value) { made[name] = std::forward<decltype(value)>(value); },
             std::forward<Items>(items)...);
    return made;
}

/// An argument that is None unless it is given.
inline nb::arg_v or_none(const char* name) { return nb::arg(name).none() = nb::none(); }

template <auto method, class Held, class Class, class Result, class... Arguments>
auto method_of_used(Result (Class::*)(Arguments...) const) {
    return [](Held& self, Arguments... arguments) -> std::decay_t<Result> {
        return std::invoke(method, self.use(), arguments...);
    };
}
template <auto method, class Held, class Class, class Result, class... Arguments>
auto method_of_used(Result (Class::*)(Arguments...)) {
    return [](Held& self, Arguments... arguments) -> std::decay_t<Result> {
        return std::invoke(method, self.use(), arguments...);
    };
}
/// A method of what `held.use()` gives, or throws instead, as a method of Held.
template <class Held, auto method>
auto used() {
    return method_of_used<method, Held>(method);
}

/// The end of `with`: `leave` is called with the object and the exception that ends the block, or None.
template <class T, class Leave>
void add_exit(nb::class_<T>& bound, Leave leave) {
    bound.def(
        "__exit__", [leave](T& self, nb::handle, nb::handle error, nb::handle) { leave(self, error); },
        nb::arg("type").none(), nb::arg("error").none(), nb::arg("traceback").none(),
        nb::sig("def __exit__(self, type: Any, error: Any, traceback: Any) -> None"));
}

/// Makes `with object:` work. `signature`: of its beginning, at which `enter` is called with the object.
template <class T, class Leave>
void add_block(
    nb::class_<T>& bound, const char* signature, Leave leave, void (*enter)(std::type_identity_t<T>&) = [](T&) {}) {
    bound.def(
        "__enter__",
        [enter](nb::handle self) {
            enter(nb::cast<T&>(self));
            return nb::borrow(self);
        },
        nb::sig(signature));
    add_exit(bound, leave);
}

}  // namespace penstock::python
