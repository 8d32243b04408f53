// Exceptions of C++ as the classes of penstock.errors, with their facts as attributes.
#include <nanobind/stl/string.h>

#include <exception>
#include <new>

#include "apps/report.hpp"
#include "penstock/error.hpp"
#include "python_machine.hpp"

namespace penstock::python {
namespace {

nb::object make(const char* name, const std::exception& error) {
    return nb::module_::import_("penstock.errors").attr(name)(std::string(error.what()));
}

void raise(const nb::object& error) { PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr()); }

/// The exception that ended the task, as Python would have it.
nb::object cause_of(const TaskFailed& failed) {
    try {
        std::rethrow_exception(failed.cause());
    } catch (const Error& cause) {
        return make("Error", cause);
    } catch (const std::bad_alloc&) {
        return nb::borrow(PyExc_MemoryError)();
    } catch (const std::exception& cause) {
        return nb::borrow(PyExc_RuntimeError)(std::string(cause.what()));
    } catch (...) {
        return nb::borrow(PyExc_RuntimeError)("an exception that is not a std::exception");
    }
}

void translate(const std::exception_ptr& exception, void*) {
    try {
        std::rethrow_exception(exception);
    } catch (const apps::SettingError& error) {
        nb::object made = make("SettingError", error);
        made.attr("app") = error.app();
        made.attr("setting") = error.setting();
        raise(made);
    } catch (const ArgumentError& error) {
        nb::object made = make("ArgumentError", error);
        made.attr("task") = error.task();
        made.attr("argument") = error.argument();
        raise(made);
    } catch (const TaskFailed& error) {
        nb::object made = make("TaskFailed", error);
        made.attr("task") = error.task();
        made.attr("target") = error.target();
        made.attr("others") = error.others();
        made.attr("__cause__") = cause_of(error);
        raise(made);
    } catch (const SystemError& error) {
        nb::object made = make("SystemError", error);
        made.attr("number") = error.number();
        raise(made);
    } catch (const TaskCancelled& error) {
        raise(make("TaskCancelled", error));
    } catch (const QueueFull& error) {
        raise(make("QueueFull", error));
    } catch (const NestingTooDeep& error) {
        raise(make("NestingTooDeep", error));
    } catch (const WouldDeadlock& error) {
        raise(make("WouldDeadlock", error));
    } catch (const MachineGone& error) {
        raise(make("MachineGone", error));
    } catch (const UsageError& error) {
        raise(make("UsageError", error));
    } catch (const Error& error) {
        raise(make("Error", error));
    }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(&translate); }

}  // namespace penstock::python
