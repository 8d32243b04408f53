// Handles for Python: of compiled bodies and of Python bodies.
#include <cmath>

#include "python/calls/python_machine.hpp"
#include "python/errors.hpp"

namespace penstock::python {
namespace {

std::chrono::nanoseconds duration_of(std::optional<double> seconds) {
    if (!seconds || *seconds > 1e9) return std::chrono::nanoseconds::max();
    if (std::isnan(*seconds)) throw UsageError("a timeout is a number of seconds, or None");
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(std::max(*seconds, 0.0)));
}

std::size_t hash_of(const PythonHandle& handle) {
    if (handle.task != nullptr) return std::hash<const void*>()(handle.task.get());
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(handle.handle);
    return std::hash<std::uint64_t>()(words[0] ^ words[1] * 0x9e3779b97f4a7c15);
}

/// Those of compiled bodies stand by themselves too.
struct Handles {
    std::vector<PythonHandle> all;
    std::vector<Handle> compiled;

    explicit Handles(const nb::iterable& handles) {
        for (nb::handle item : handles) {
            if (!nb::isinstance<PythonHandle>(item))
                throw UsageError("wait_any and wait_all take handles, as machine.call returns them");
            all.push_back(nb::cast<const PythonHandle&>(item));
            if (all.back().task == nullptr) compiled.push_back(all.back().handle);
        }
    }
};

void wait_for_all(const nb::iterable& given) {
    const Handles handles(given);
    std::exception_ptr first;
    const auto keep_first = [&](auto&& wait) {
        try {
            wait();
        } catch (const Error&) {
            if (first == nullptr) first = std::current_exception();
        }
    };
    keep_first([&] { without_interpreter([&] { wait_all(handles.compiled); }); });
    for (const PythonHandle& handle : handles.all)
        if (handle.task != nullptr) keep_first([&] { handle.wait(false); });
    if (!handles.all.empty()) handles.all.front().ledger->sweep();
    if (first != nullptr) std::rethrow_exception(first);
}

std::size_t wait_for_any(const nb::iterable& given) {
    const Handles handles(given);
    if (handles.all.empty()) throw UsageError("wait_any needs at least one handle");
    if (handles.compiled.size() == handles.all.size()) {
        const std::size_t index = without_interpreter([&] { return wait_any(handles.compiled); });
        handles.all.front().ledger->sweep();
        return index;
    }
    for (;;) {
        for (std::size_t i = 0; i < handles.all.size(); ++i) {
            if (!handles.all[i].ready()) continue;
            handles.all[i].wait(false);
            return i;
        }
        const auto first = std::ranges::find_if(handles.all, [](const auto& handle) { return handle.task != nullptr; });
        // Compiled bodies ring nobody here, so they are looked at again soon.
        if (const auto workers = first->pool.lock())
            workers->wait_for_any(std::chrono::milliseconds{handles.compiled.empty() ? 100 : 1});
    }
}

}  // namespace

std::shared_ptr<WorkerPool> PythonHandle::workers() const {
    auto found = pool.lock();
    if (found == nullptr)
        throw MachineGone("the machine of this handle was closed before its task was seen to complete");
    return found;
}

void PythonHandle::wait(bool helping) const {
    if (task != nullptr) {
        if (!task->finished) workers()->wait(task);
        throw_failure(task);
        return;
    }
    if (!handle.ready()) {
        const nb::gil_scoped_release release;
        helping ? handle.wait(help) : handle.wait();
    } else {
        handle.wait();  // complete: returns, or throws what the task threw
    }
    ledger->sweep();
}

bool PythonHandle::ready() const {
    if (task == nullptr) return handle.ready();
    if (task->finished) return true;
    const auto found = pool.lock();
    return found == nullptr || found->ready(task);
}

bool PythonHandle::cancel() const {
    if (task == nullptr) return handle.cancel();
    return !task->finished && workers()->cancel(task);
}

bool PythonHandle::wait_for(std::optional<double> seconds) const {
    const auto longest = duration_of(seconds);
    if (task != nullptr) return task->finished || workers()->wait_for(task, longest);
    if (!seconds) {
        const nb::gil_scoped_release release;
        try {
            handle.wait();
        } catch (const Error&) {
            // Told by whoever asked.
        }
        return true;
    }
    const auto begin = std::chrono::steady_clock::now();
    for (int looks = 0; !handle.ready(); ++looks) {
        if (std::chrono::steady_clock::now() - begin >= longest) return false;
        const nb::gil_scoped_release release;
        if (looks > 100) std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    return true;
}

nb::object PythonHandle::result(std::optional<double> timeout) const {
    if (!wait_for(timeout)) {
        PyErr_SetString(PyExc_TimeoutError, "the task has not completed in time");
        throw nb::python_error();
    }
    wait(false);
    return task == nullptr ? nb::none() : result_of(*task);
}

nb::object PythonHandle::exception(std::optional<double> timeout) const {
    try {
        static_cast<void>(result(timeout));
    } catch (const TaskFailed&) {
        return fact_of(std::current_exception());
    }
    return nb::none();
}

void PythonHandle::add_done_callback(nb::object callback) const {
    if (task == nullptr) throw UsageError("call-backs of compiled bodies are given with the call");
    if (task->finished) return static_cast<void>(callback());
    workers()->when_done(task, std::move(callback));
}

void bind_handle(nb::module_& module) {
    nb::class_<PythonHandle>(
        module, "Handle", nb::is_final(), nb::is_generic(), nb::sig("@final\nclass Handle(Generic[_T])"),
        "Stands for one issued task. Cheap; may be dropped, and outlives its machine (then it says so).")
        .def("wait", &PythonHandle::wait, nb::arg("help") = false,
             "Returns when the task has completed. With help=True this thread runs other tasks that it issued\n"
             "meanwhile (compiled bodies).\n\n"
             "Other Python threads run meanwhile. Raises TaskFailed, TaskCancelled, MachineGone, WouldDeadlock.")
        .def("ready", &PythonHandle::ready, "Has the task completed (or its machine gone)? Never blocks, never raises.")
        .def("done", &PythonHandle::ready, "The same as ready(), by the name that concurrent.futures gives it.")
        .def("result", &PythonHandle::result, or_none("timeout"),
             nb::sig("def result(self, timeout: float | None = None) -> _T"),
             "Waits as wait() does, and returns what a Python body returned; None for compiled bodies. Raises what\n"
             "wait() raises, and TimeoutError after `timeout` seconds.")
        .def("exception", &PythonHandle::exception, or_none("timeout"),
             nb::sig("def exception(self, timeout: float | None = None) -> TaskFailed | None"),
             "Waits, and returns the TaskFailed that wait() would raise, or None. Raises TaskCancelled and "
             "TimeoutError.")
        .def(
            "add_done_callback",
            [](nb::handle self, nb::object callback) {
                const auto call = imported("functools", "partial")(callback, self);
                nb::cast<PythonHandle&>(self).add_done_callback(call);
            },
            nb::arg("callback"), nb::sig("def add_done_callback(self, callback: Callable[[Handle[_T]], Any]) -> None"),
            "Calls callback(handle) once the task has completed: at once where it has, or else in the thread that\n"
            "finds it complete, in a wait, a barrier or machine.poll(). What it raises is written to stderr and goes\n"
            "no further.")
        .def("cancel", &PythonHandle::cancel,
             "Asks that the task be skipped if it has not started. False when it has completed already (or, a Python\n"
             "body, has started); wait() of a skipped task raises TaskCancelled.")
        .def(
            "__await__", [](nb::handle self) { return imported("penstock.asynchronous", "awaited")(self); },
            nb::sig("def __await__(self) -> Generator[Any, None, _T]"),
            "In a coroutine of asyncio: `await handle` gives other coroutines time, and returns what result() does.")
        .def(
            "as_coroutine", [](nb::handle self) { return imported("penstock.asynchronous", "coroutine")(self); },
            nb::sig("def as_coroutine(self) -> Coroutine[Any, Any, _T]"),
            "The same for those who want a coroutine: `group.create_task(handle.as_coroutine())`.")
        .def(
            "_notice",
            [](const PythonHandle& self) {
                if (self.interrupt != nullptr && self.interrupt->thread == PyThread_get_thread_ident() &&
                    !self.interrupt->machine.expired())
                    return self.interrupt->descriptor;
                const auto workers = self.pool.lock();
                return workers == nullptr ? -1 : workers->notice();
            },
            "Descriptor that becomes readable when a Python body, or a compiled one with notification='interrupt'\n"
            "that this thread called, completes; -1 for others and closed machines.")
        .def(
            "_is_compiled", [](const PythonHandle& self) { return self.task == nullptr; },
            "Does it stand for a task of a compiled body?")
        .def(
            "_rearm",
            [](const PythonHandle& self) {
                if (const auto workers = self.pool.lock()) workers->rearm();
                if (self.interrupt == nullptr) return;
                const auto machine = self.interrupt->machine.lock();
                if (machine != nullptr) without_interpreter([&] { machine->poll(); });
            },
            "Finishes what has completed, and asks to be told of more.")
        .def("__eq__", [](const PythonHandle& a, const PythonHandle& b) { return a == b; })
        .def("__eq__", [](const PythonHandle&, nb::handle) { return false; })
        .def("__hash__", [](const PythonHandle& a) { return hash_of(a); })
        .def("__repr__", [](const PythonHandle& handle) {
            const std::string name = handle.task == nullptr ? "" : handle.task->function->name + ", ";
            return "penstock.Handle(" + name + (handle.ready() ? "complete)" : "outstanding)");
        });
    module.def("wait_all", &wait_for_all, nb::arg("handles"),
               nb::sig("def wait_all(handles: Iterable[Handle[Any]]) -> None"),
               "Waits for all of these, helping. Raises the first failure when all have completed.");
    module.def(
        "wait_any", &wait_for_any, nb::arg("handles"), nb::sig("def wait_any(handles: Iterable[Handle[Any]]) -> int"),
        "Waits until one of these has completed and returns its index, helping. Raises UsageError for none, and what "
        "wait() would.");
}

}  // namespace penstock::python
