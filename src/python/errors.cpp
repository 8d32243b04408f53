#include "python/errors.hpp"

#include <iterator>
#include <typeinfo>

#include "machine/said_by.hpp"
#include "penstock/cluster.hpp"
#include "penstock/components.hpp"
#include "penstock/isolation.hpp"
#include "penstock/join.hpp"
#include "penstock/message_error.hpp"
#include "penstock/region.hpp"
#include "penstock/spmd.hpp"
#include "python/calls/body.hpp"
#include "python/calls/python_task.hpp"
#include "python/ranks/rank_session.hpp"
#include "python/streams/filter_spec.hpp"

namespace penstock::python {
namespace {

/// The word of a reason; the last one for what is none.
template <class Reason, std::size_t n>
const char* word_of_reason(Reason reason, const char* const (&words)[n]) {
    return words[std::min(static_cast<std::size_t>(reason), n - 1)];
}
const char* join_reason(const JoinRefused& error) {
    static constexpr const char* words[] = {"user",    "rank_taken", "no_such_rank", "size",    "complete",
                                            "version", "namespaces", "resources",    "nonsense"};
    static_assert(static_cast<std::size_t>(JoinRefused::Reason::nonsense) + 1 == std::size(words));
    return word_of_reason(error.reason(), words);
}
const char* library_reason(const LibraryRefused& error) {
    static constexpr const char* words[] = {"no_file",       "no_library",      "no_entry",
                                            "other_version", "bad_description", "name_taken"};
    static_assert(static_cast<std::size_t>(LibraryRefused::Reason::name_taken) + 1 == std::size(words));
    return word_of_reason(error.reason(), words);
}

const char* bound_of_placement(const NoPlacement& error) {
    static constexpr const char* words[] = {"balance", "memory", "rules"};
    static_assert(static_cast<std::size_t>(NoPlacement::Bound::rules) + 1 == std::size(words));
    return word_of_reason(error.bound(), words);
}

/// Of a compiled body in a worker process.
nb::object dead_worker(const Error& error) {
    const auto* const died = dynamic_cast<const WorkerDied*>(&error);
    if (died == nullptr) return {};
    const auto limit = died->time_limit();
    nb::object made = error_object(limit ? "TimeLimitExceeded" : "WorkerDied", error, "task", died->task(), "target",
                                   died->target(), "pid", died->pid(), "signal", died->signal(), "exit_code",
                                   died->exit_code(), "core_dumped", died->core_dumped(), "output", died->output());
    if (limit) made.attr("limit") = fact_of(*limit);
    return made;
}

nb::object failed_filter(const Error& error) {
    const auto* const failed = dynamic_cast<const FilterFailed*>(&error);
    if (failed == nullptr) return {};
    const nb::object cause = fact_of(failed->cause());
    // Ctrl-C came while this thread helped
    if (PyErr_GivenExceptionMatches(cause.ptr(), PyExc_KeyboardInterrupt) != 0) return cause;
    return error_object("FilterFailed", error, "filter", failed->filter(), "copy", failed->copy(), "firing",
                        failed->firing(), "others", failed->others(), "__cause__", cause);
}

/// One of these, without facts.
template <class... E>
nb::object plain_error(const Error& error) {
    nb::object made;
    static_cast<void>(((made = error_class<E>()(error)).is_valid() || ...));
    return made;
}

/// What a function of the user's raised; nothing where the exception is another one.
nb::object raised_by_user(const Error& error) {
    if (const auto* const filter = dynamic_cast<const FilterRaised*>(&error)) return *filter->raised;
    if (const auto* const body = dynamic_cast<const BodyFailed*>(&error)) return exception_of(*body->task);
    return {};
}

/// The counterpart of an exception of Penstock; nothing for another.
nb::object object_of(const std::exception_ptr& exception) {
    try {
        std::rethrow_exception(exception);
    } catch (const Error& error) {
        for (const ErrorClass& each : error_classes())
            if (nb::object made = each(error)) return made;
    } catch (const Interrupted&) {
        return nb::borrow(PyExc_KeyboardInterrupt)();
    } catch (...) {
    }
    return {};
}

void translate(const std::exception_ptr& exception, void*) {
    nb::object made;
    try {
        std::rethrow_exception(exception);
    } catch (const std::bad_cast&) {
        made = error_object("UsageError",
                            "a value has another type than it should have here, or is a number that does not fit, or a "
                            "text that no encoding has (lone surrogates)");
    } catch (const Error& error) {
        // What a function of the user's raised is the cause of an error that `except penstock.Error` catches.
        if (const nb::object cause = raised_by_user(error)) made = error_object("Error", error, "__cause__", cause);
        else made = object_of(exception);
    } catch (...) {
        made = object_of(exception);
    }
    if (!made.is_valid()) std::rethrow_exception(exception);
    PyErr_SetObject(made.type().ptr(), made.ptr());
}

}  // namespace

std::vector<ErrorClass>& error_classes() {
    // What is derived from another stands before it.
    static auto& classes = *new std::vector<ErrorClass>{
        &raised_by_user,
        error_class<ArgumentError>("task", &ArgumentError::task, "argument", &ArgumentError::argument),
        error_class<CannotCarryOver>("task", &CannotCarryOver::task, "argument", &CannotCarryOver::argument),
        &dead_worker,
        error_class<RemoteException>("type", &RemoteException::type),
        error_class<TaskFailed>("task", &TaskFailed::task, "target", &TaskFailed::target, "others", &TaskFailed::others,
                                "__cause__", &TaskFailed::cause),
        error_class<SystemError>("number", &SystemError::number),
        error_class<NoPlacement>("bound", &bound_of_placement, "least", &NoPlacement::least),
        error_class<NodeDied>("node", &NodeDied::node, "filters", &NodeDied::filters, "buffers", &NodeDied::buffers),
        error_class<RankDied>("rank", &RankLost::rank, "pid", &RankDied::pid, "exit_code", &RankDied::exit_code,
                              "signal", &RankDied::signal, "node", &RankDied::node),
        error_class<RankLeft>("rank", &RankLost::rank, "failed", &RankLeft::failed),
        error_class<MessengerClosed>("rank", &RankLost::rank),
        error_class<RankLost>("rank", &RankLost::rank),
        error_class<RankFailed>("rank", &RankFailed::rank, "others", &RankFailed::others, "__cause__",
                                &RankFailed::cause),
        error_class<OutOfBounds>("region", &OutOfBounds::region),
        error_class<GrantMissing>("owner", &GrantMissing::owner, "name", &GrantMissing::name, "waited",
                                  &GrantMissing::waited),
        error_class<InvalidGrant>("owner", &InvalidGrant::owner, "name", &InvalidGrant::name),
        error_class<NoSuchRank>("rank", &NoSuchRank::rank, "size", &NoSuchRank::size),
        error_class<Truncated>("source", &Truncated::source, "sent", &Truncated::sent, "room", &Truncated::room),
        error_class<MessageTooLong>("source", &MessageTooLong::source, "announced", &MessageTooLong::announced, "limit",
                                    &MessageTooLong::limit),
        error_class<InvalidMessage>("rank", &InvalidMessage::rank, "field", &InvalidMessage::field),
        error_class<TeamNameTaken>("team", &TeamNameTaken::team),
        error_class<HostMissing>("team", &HostMissing::team),
        error_class<WrongHost>("team", &WrongHost::team, "expected", &WrongHost::expected, "actual",
                               &WrongHost::actual),
        error_class<JoinRefused>("team", &JoinRefused::team, "reason", &join_reason),
        error_class<MembersMissing>("team", &MembersMissing::team, "missing", &MembersMissing::missing, "size",
                                    &MembersMissing::size),
        error_class<GraphError>("problems", &GraphError::problems),
        &failed_filter,
        error_class<PredecessorFailed>("predecessor", &PredecessorFailed::predecessor, "__cause__",
                                       &PredecessorFailed::cause),
        error_class<LibraryRefused>("path", &LibraryRefused::path, "reason", &library_reason),
        &plain_error<OpenSslMissing, PmixMissing, WorkersLost, RankEnded, ElementError, UnreadableRemote, StreamStalled,
                     StreamFull, RunEnded, BufferOverrun, TaskCancelled, QueueFull, NestingTooDeep, WouldDeadlock,
                     MachineGone, BodyError, NotOverNodes, UsageError, Error>,
    };
    return classes;
}

nb::object text_of(const std::exception& error) {
    const std::string_view said = penstock::said_by(error);
    return nb::steal(PyUnicode_DecodeUTF8(said.data(), static_cast<Py_ssize_t>(said.size()), "backslashreplace"));
}

nb::object fact_of(const std::exception_ptr& cause) {
    if (nb::object ours = object_of(cause)) return ours;
    try {
        std::rethrow_exception(cause);
    } catch (const std::bad_alloc&) {
        return nb::borrow(PyExc_MemoryError)();
    } catch (const std::exception& other) {
        return nb::borrow(PyExc_RuntimeError)(text_of(other));
    } catch (...) {
        return nb::borrow(PyExc_RuntimeError)(penstock::said_by(cause));
    }
}

void throw_object(nb::handle error) {
    PyErr_SetObject(error.type().ptr(), error.ptr());
    throw nb::python_error();
}

void bind_errors(nb::module_&) { nb::register_exception_translator(&translate); }

}  // namespace penstock::python
