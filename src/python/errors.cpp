// Exceptions of C++ as the classes of penstock.errors, with their facts as attributes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <new>
#include <string_view>
#include <typeinfo>

#include "apps/report.hpp"
#include "machine/said_by.hpp"
#include "penstock/buffer.hpp"
#include "penstock/components.hpp"
#include "penstock/error.hpp"
#include "penstock/isolation.hpp"
#include "penstock/join.hpp"
#include "penstock/message_error.hpp"
#include "penstock/region.hpp"
#include "penstock/spmd.hpp"
#include "penstock/stream_error.hpp"
#include "python/calls/body.hpp"
#include "python/calls/python_machine.hpp"
#include "python/calls/task_outcome.hpp"
#include "python/ranks/rank_session.hpp"
#include "python/streams/filter_spec.hpp"

namespace penstock::python {
namespace {

/// Names that others gave may be no UTF-8.
nb::object text_of(const std::exception& error) {
    const std::string_view said = said_by(error);
    return nb::steal(PyUnicode_DecodeUTF8(said.data(), static_cast<Py_ssize_t>(said.size()), "backslashreplace"));
}

nb::object make(const char* name, const std::exception& error) {
    return nb::module_::import_("penstock.errors").attr(name)(text_of(error));
}

void raise(const nb::object& error) { PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr()); }

nb::object made_of(const ArgumentError& error) {
    nb::object made = make("ArgumentError", error);
    made.attr("task") = error.task();
    made.attr("argument") = error.argument();
    return made;
}

/// Of a compiled body in a worker process.
nb::object of_dead_worker(const WorkerDied& error) {
    nb::object made = make(error.time_limit() ? "TimeLimitExceeded" : "WorkerDied", error);
    made.attr("task") = error.task();
    made.attr("target") = error.target();
    made.attr("pid") = error.pid();
    made.attr("signal") = error.signal();
    made.attr("exit_code") = error.exit_code();
    made.attr("core_dumped") = error.core_dumped();
    made.attr("output") = error.output();
    if (error.time_limit()) made.attr("limit") = std::chrono::duration<double>(*error.time_limit()).count();
    return made;
}

/// The exception that ended a task or a rank, as Python would have it.
nb::object cause_of(const std::exception_ptr& exception) {
    try {
        std::rethrow_exception(exception);
    } catch (const FilterRaised& cause) {
        return *cause.raised();
    } catch (const StreamFull& cause) {
        return make("StreamFull", cause);
    } catch (const ArgumentError& cause) {
        return made_of(cause);
    } catch (const MachineGone& cause) {
        return make("MachineGone", cause);
    } catch (const BodyFailed& cause) {
        return exception_of(*cause.task());
    } catch (const WorkerDied& cause) {
        return of_dead_worker(cause);
    } catch (const RemoteException& cause) {
        nb::object made = make("RemoteException", cause);
        made.attr("type") = cause.type();
        return made;
    } catch (const WorkersLost& cause) {
        return make("WorkersLost", cause);
    } catch (const UsageError& cause) {
        return make("UsageError", cause);
    } catch (const Error& cause) {
        return make("Error", cause);
    } catch (const std::bad_alloc&) {
        return nb::borrow(PyExc_MemoryError)();
    } catch (const std::exception& cause) {
        return nb::borrow(PyExc_RuntimeError)(text_of(cause));
    } catch (...) {
        return nb::borrow(PyExc_RuntimeError)(said_by(exception));
    }
}

template <class TeamError>
nb::object of_team(const char* name, const TeamError& error) {
    nb::object made = make(name, error);
    made.attr("team") = error.team();
    return made;
}

const char* reason_of(JoinRefused::Reason reason) {
    switch (reason) {
        case JoinRefused::Reason::user:
            return "user";
        case JoinRefused::Reason::rank_taken:
            return "rank_taken";
        case JoinRefused::Reason::no_such_rank:
            return "no_such_rank";
        case JoinRefused::Reason::size:
            return "size";
        case JoinRefused::Reason::complete:
            return "complete";
        case JoinRefused::Reason::version:
            return "version";
        case JoinRefused::Reason::namespaces:
            return "namespaces";
        case JoinRefused::Reason::resources:
            return "resources";
        case JoinRefused::Reason::nonsense:
            break;
    }
    return "nonsense";
}

const char* reason_of(LibraryRefused::Reason reason) {
    switch (reason) {
        case LibraryRefused::Reason::no_file:
            return "no_file";
        case LibraryRefused::Reason::no_library:
            return "no_library";
        case LibraryRefused::Reason::no_entry:
            return "no_entry";
        case LibraryRefused::Reason::other_version:
            return "other_version";
        case LibraryRefused::Reason::name_taken:
            return "name_taken";
        case LibraryRefused::Reason::bad_description:
            break;
    }
    return "bad_description";
}

/// RankDied, RankLeft or MessengerClosed.
nb::object lost(const RankLost& error) {
    nb::object made;
    if (const auto* died = dynamic_cast<const RankDied*>(&error)) {
        made = make("RankDied", error);
        made.attr("pid") = died->pid();
        made.attr("exit_code") = died->exit_code();
        made.attr("signal") = died->signal();
    } else if (const auto* left = dynamic_cast<const RankLeft*>(&error)) {
        made = make("RankLeft", error);
        made.attr("failed") = left->failed();
    } else {
        made = make(dynamic_cast<const MessengerClosed*>(&error) != nullptr ? "MessengerClosed" : "RankLost", error);
    }
    made.attr("rank") = error.rank();
    return made;
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
        raise(made_of(error));
    } catch (const CannotCarryOver& error) {
        nb::object made = make("CannotCarryOver", error);
        made.attr("task") = error.task();
        made.attr("argument") = error.argument();
        raise(made);
    } catch (const WorkersLost& error) {
        raise(make("WorkersLost", error));
    } catch (const TaskFailed& error) {
        raise(failure_object(error));
    } catch (const SystemError& error) {
        nb::object made = make("SystemError", error);
        made.attr("number") = error.number();
        raise(made);
    } catch (const RankLost& error) {
        raise(lost(error));
    } catch (const RankFailed& error) {
        nb::object made = make("RankFailed", error);
        made.attr("rank") = error.rank();
        made.attr("others") = error.others();
        made.attr("__cause__") = cause_of(error.cause());
        raise(made);
    } catch (const OutOfBounds& error) {
        nb::object made = make("OutOfBounds", error);
        made.attr("region") = error.region();
        raise(made);
    } catch (const GrantMissing& error) {
        nb::object made = make("GrantMissing", error);
        made.attr("owner") = error.owner();
        made.attr("name") = error.name();
        made.attr("waited") = std::chrono::duration<double>(error.waited()).count();
        raise(made);
    } catch (const InvalidGrant& error) {
        nb::object made = make("InvalidGrant", error);
        made.attr("owner") = error.owner();
        made.attr("name") = error.name();
        raise(made);
    } catch (const NoSuchRank& error) {
        nb::object made = make("NoSuchRank", error);
        made.attr("rank") = error.rank();
        made.attr("size") = error.size();
        raise(made);
    } catch (const Truncated& error) {
        nb::object made = make("Truncated", error);
        made.attr("source") = error.source();
        made.attr("sent") = error.sent();
        made.attr("room") = error.room();
        raise(made);
    } catch (const MessageTooLong& error) {
        nb::object made = make("MessageTooLong", error);
        made.attr("source") = error.source();
        made.attr("announced") = error.announced();
        made.attr("limit") = error.limit();
        raise(made);
    } catch (const InvalidMessage& error) {
        nb::object made = make("InvalidMessage", error);
        made.attr("rank") = error.rank();
        made.attr("field") = error.field();
        raise(made);
    } catch (const TeamNameTaken& error) {
        raise(of_team("TeamNameTaken", error));
    } catch (const HostMissing& error) {
        raise(of_team("HostMissing", error));
    } catch (const WrongHost& error) {
        nb::object made = of_team("WrongHost", error);
        made.attr("expected") = error.expected();
        made.attr("actual") = error.actual();
        raise(made);
    } catch (const JoinRefused& error) {
        nb::object made = of_team("JoinRefused", error);
        made.attr("reason") = reason_of(error.reason());
        raise(made);
    } catch (const MembersMissing& error) {
        nb::object made = of_team("MembersMissing", error);
        made.attr("missing") = error.missing();
        made.attr("size") = error.size();
        raise(made);
    } catch (const RankEnded& error) {
        raise(make("RankEnded", error));
    } catch (const ElementError& error) {
        raise(make("ElementError", error));
    } catch (const UnreadableRemote& error) {
        raise(make("UnreadableRemote", error));
    } catch (const GraphError& error) {
        nb::object made = make("GraphError", error);
        made.attr("problems") = error.problems();
        raise(made);
    } catch (const FilterFailed& error) {
        const nb::object cause = cause_of(error.cause());
        // Ctrl-C came while this thread helped
        if (PyErr_GivenExceptionMatches(cause.ptr(), PyExc_KeyboardInterrupt) != 0) return raise(cause);
        nb::object made = make("FilterFailed", error);
        made.attr("filter") = error.filter();
        made.attr("copy") = error.copy();
        made.attr("firing") = error.firing();
        made.attr("others") = error.others();
        made.attr("__cause__") = cause;
        raise(made);
    } catch (const StreamStalled& error) {
        raise(make("StreamStalled", error));
    } catch (const StreamFull& error) {
        raise(make("StreamFull", error));
    } catch (const RunEnded& error) {
        raise(make("RunEnded", error));
    } catch (const BufferOverrun& error) {
        raise(make("BufferOverrun", error));
    } catch (const Interrupted&) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
    } catch (const PredecessorFailed& error) {
        nb::object made = make("PredecessorFailed", error);
        made.attr("predecessor") = error.predecessor();
        made.attr("__cause__") = cause_of(error.cause());
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
    } catch (const BodyError& error) {
        raise(make("BodyError", error));
    } catch (const LibraryRefused& error) {
        nb::object made = make("LibraryRefused", error);
        made.attr("path") = error.path();
        made.attr("reason") = reason_of(error.reason());
        raise(made);
    } catch (const UsageError& error) {
        raise(make("UsageError", error));
    } catch (const Error& error) {
        raise(make("Error", error));
    } catch (const std::bad_cast&) {
        raise(nb::module_::import_("penstock.errors")
                  .attr("UsageError")("a value has another type than it should have here, or is a number that does not "
                                      "fit, or a text that no encoding has (lone surrogates)"));
    }
}

}  // namespace

nb::object failure_object(const TaskFailed& error) {
    nb::object made = make("TaskFailed", error);
    made.attr("task") = error.task();
    made.attr("target") = error.target();
    made.attr("others") = error.others();
    made.attr("__cause__") = cause_of(error.cause());
    return made;
}

void bind_errors(nb::module_&) { nb::register_exception_translator(&translate); }

}  // namespace penstock::python
