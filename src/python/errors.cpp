#include "python/errors.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <exception>
#include <new>
#include <string_view>
#include <typeinfo>
#include <utility>

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
#include "python/calls/python_task.hpp"
#include "python/ranks/rank_session.hpp"
#include "python/streams/filter_spec.hpp"

namespace penstock::python {
namespace {

/// Names that others gave may be no UTF-8.
nb::object text_of(const std::exception& error) {
    const std::string_view said = said_by(error);
    return nb::steal(PyUnicode_DecodeUTF8(said.data(), static_cast<Py_ssize_t>(said.size()), "backslashreplace"));
}

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

void add_facts(const nb::object&) {}
/// Names and values by turns.
template <class Value, class... Rest>
void add_facts(const nb::object& made, const char* name, Value&& value, Rest&&... rest) {
    made.attr(name) = std::forward<Value>(value);
    add_facts(made, std::forward<Rest>(rest)...);
}

template <class... Facts>
nb::object make(const char* name, const std::exception& error, Facts&&... facts) {
    nb::object made = error_object(name, error);
    add_facts(made, std::forward<Facts>(facts)...);
    return made;
}

nb::object cause_of(const std::exception_ptr& exception);

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

/// Of a compiled body in a worker process.
nb::object of_dead_worker(const WorkerDied& error) {
    nb::object made = make(error.time_limit() ? "TimeLimitExceeded" : "WorkerDied", error, "task", error.task(),
                           "target", error.target(), "pid", error.pid(), "signal", error.signal(), "exit_code",
                           error.exit_code(), "core_dumped", error.core_dumped(), "output", error.output());
    if (error.time_limit()) made.attr("limit") = seconds(*error.time_limit());
    return made;
}

nb::object lost(const RankLost& error) {
    const auto as = [&](const char* name, auto... facts) { return make(name, error, "rank", error.rank(), facts...); };
    if (const auto* died = dynamic_cast<const RankDied*>(&error))
        return as("RankDied", "pid", died->pid(), "exit_code", died->exit_code(), "signal", died->signal());
    if (const auto* left = dynamic_cast<const RankLeft*>(&error)) return as("RankLeft", "failed", left->failed());
    return as(dynamic_cast<const MessengerClosed*>(&error) != nullptr ? "MessengerClosed" : "RankLost");
}

nb::object failed_filter(const FilterFailed& error) {
    const nb::object cause = cause_of(error.cause());
    // Ctrl-C came while this thread helped
    if (PyErr_GivenExceptionMatches(cause.ptr(), PyExc_KeyboardInterrupt) != 0) return cause;
    return make("FilterFailed", error, "filter", error.filter(), "copy", error.copy(), "firing", error.firing(),
                "others", error.others(), "__cause__", cause);
}

/// The counterpart of an exception of Penstock; nothing for another.
nb::object object_of(const std::exception_ptr& exception) {
    try {
        std::rethrow_exception(exception);
    } catch (const FilterRaised& error) {
        return *error.raised();
    } catch (const BodyFailed& error) {
        return exception_of(*error.task());
    } catch (const ArgumentError& error) {
        return make("ArgumentError", error, "task", error.task(), "argument", error.argument());
    } catch (const CannotCarryOver& error) {
        return make("CannotCarryOver", error, "task", error.task(), "argument", error.argument());
    } catch (const WorkersLost& error) {
        return make("WorkersLost", error);
    } catch (const WorkerDied& error) {
        return of_dead_worker(error);
    } catch (const RemoteException& error) {
        return make("RemoteException", error, "type", error.type());
    } catch (const TaskFailed& error) {
        return failure_object(error);
    } catch (const SystemError& error) {
        return make("SystemError", error, "number", error.number());
    } catch (const RankLost& error) {
        return lost(error);
    } catch (const RankFailed& error) {
        return make("RankFailed", error, "rank", error.rank(), "others", error.others(), "__cause__",
                    cause_of(error.cause()));
    } catch (const OutOfBounds& error) {
        return make("OutOfBounds", error, "region", error.region());
    } catch (const GrantMissing& error) {
        return make("GrantMissing", error, "owner", error.owner(), "name", error.name(), "waited",
                    seconds(error.waited()));
    } catch (const InvalidGrant& error) {
        return make("InvalidGrant", error, "owner", error.owner(), "name", error.name());
    } catch (const NoSuchRank& error) {
        return make("NoSuchRank", error, "rank", error.rank(), "size", error.size());
    } catch (const Truncated& error) {
        return make("Truncated", error, "source", error.source(), "sent", error.sent(), "room", error.room());
    } catch (const MessageTooLong& error) {
        return make("MessageTooLong", error, "source", error.source(), "announced", error.announced(), "limit",
                    error.limit());
    } catch (const InvalidMessage& error) {
        return make("InvalidMessage", error, "rank", error.rank(), "field", error.field());
    } catch (const TeamNameTaken& error) {
        return make("TeamNameTaken", error, "team", error.team());
    } catch (const HostMissing& error) {
        return make("HostMissing", error, "team", error.team());
    } catch (const WrongHost& error) {
        return make("WrongHost", error, "team", error.team(), "expected", error.expected(), "actual", error.actual());
    } catch (const JoinRefused& error) {
        return make("JoinRefused", error, "team", error.team(), "reason", reason_of(error.reason()));
    } catch (const MembersMissing& error) {
        return make("MembersMissing", error, "team", error.team(), "missing", error.missing(), "size", error.size());
    } catch (const RankEnded& error) {
        return make("RankEnded", error);
    } catch (const ElementError& error) {
        return make("ElementError", error);
    } catch (const UnreadableRemote& error) {
        return make("UnreadableRemote", error);
    } catch (const GraphError& error) {
        return make("GraphError", error, "problems", error.problems());
    } catch (const FilterFailed& error) {
        return failed_filter(error);
    } catch (const StreamStalled& error) {
        return make("StreamStalled", error);
    } catch (const StreamFull& error) {
        return make("StreamFull", error);
    } catch (const RunEnded& error) {
        return make("RunEnded", error);
    } catch (const BufferOverrun& error) {
        return make("BufferOverrun", error);
    } catch (const Interrupted&) {
        return nb::borrow(PyExc_KeyboardInterrupt)();
    } catch (const PredecessorFailed& error) {
        return make("PredecessorFailed", error, "predecessor", error.predecessor(), "__cause__",
                    cause_of(error.cause()));
    } catch (const TaskCancelled& error) {
        return make("TaskCancelled", error);
    } catch (const QueueFull& error) {
        return make("QueueFull", error);
    } catch (const NestingTooDeep& error) {
        return make("NestingTooDeep", error);
    } catch (const WouldDeadlock& error) {
        return make("WouldDeadlock", error);
    } catch (const MachineGone& error) {
        return make("MachineGone", error);
    } catch (const BodyError& error) {
        return make("BodyError", error);
    } catch (const LibraryRefused& error) {
        return make("LibraryRefused", error, "path", error.path(), "reason", reason_of(error.reason()));
    } catch (const UsageError& error) {
        return make("UsageError", error);
    } catch (const Error& error) {
        return make("Error", error);
    } catch (...) {
        return {};
    }
}

/// The exception that ended a task, a rank or a filter, as Python would have it.
nb::object cause_of(const std::exception_ptr& exception) {
    if (nb::object ours = object_of(exception)) return ours;
    try {
        std::rethrow_exception(exception);
    } catch (const std::bad_alloc&) {
        return nb::borrow(PyExc_MemoryError)();
    } catch (const std::exception& cause) {
        return nb::borrow(PyExc_RuntimeError)(text_of(cause));
    } catch (...) {
        return nb::borrow(PyExc_RuntimeError)(said_by(exception));
    }
}

void translate(const std::exception_ptr& exception, void*) {
    try {  // what a function of the user's raised is the cause of an error that `except penstock.Error` catches
        std::rethrow_exception(exception);
    } catch (const FilterRaised& error) {
        return raise(make("Error", error, "__cause__", *error.raised()));
    } catch (const BodyFailed& error) {
        return raise(make("Error", error, "__cause__", exception_of(*error.task())));
    } catch (...) {
    }
    if (const nb::object ours = object_of(exception)) return raise(ours);
    try {
        std::rethrow_exception(exception);
    } catch (const std::bad_cast&) {
        raise(nb::module_::import_("penstock.errors")
                  .attr("UsageError")("a value has another type than it should have here, or is a number that does "
                                      "not fit, or a text that no encoding has (lone surrogates)"));
    }
}

}  // namespace

nb::object error_object(const char* name, const std::exception& error) {
    return nb::module_::import_("penstock.errors").attr(name)(text_of(error));
}

void raise(const nb::object& error) { PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr()); }

nb::object failure_object(const TaskFailed& error) {
    return make("TaskFailed", error, "task", error.task(), "target", error.target(), "others", error.others(),
                "__cause__", cause_of(error.cause()));
}

void bind_errors(nb::module_&) { nb::register_exception_translator(&translate); }

}  // namespace penstock::python
