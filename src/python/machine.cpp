// Machine, Target and Handle for Python.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "penstock/error.hpp"
#include "python_machine.hpp"

namespace penstock::python {
namespace {

/// A machine's target by number, as the receiver of calls.
struct PythonTarget {
    nb::object machine;
    int number;
};

template <class Choice, std::size_t n>
Choice choose(const char* option, const std::string& word, const std::array<std::pair<const char*, Choice>, n>& words) {
    std::string known;
    for (const auto& [name, choice] : words) {
        if (word == name) return choice;
        known += (known.empty() ? "" : ", ") + std::string(name);
    }
    throw UsageError(std::string(option) + " must be one of " + known + ", not " + word);
}

template <class Integer>
Integer in_range(const char* option, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high)
        throw UsageError(std::string(option) + " must be " + std::to_string(low) + " to " + std::to_string(high) + ", not " + std::to_string(value));
    return static_cast<Integer>(value);
}

MachineOptions options_of(std::optional<std::int64_t> targets, std::int64_t depth, const std::string& distribution,
                          const std::string& initiation, const std::string& completion, const std::string& when_full,
                          std::int64_t pending_limit, const std::string& prefetch, bool pin, const std::string& budget, double spin,
                          std::int64_t local_store, std::int64_t nesting_limit) {
    constexpr std::int64_t most = std::int64_t{1} << 48;
    MachineOptions options;
    if (targets) options.targets = in_range<int>("targets", *targets, 0, MachineOptions::max_targets);
    options.depth = in_range<std::uint32_t>("depth", depth, 1, MachineOptions::max_depth);
    options.distribution = choose<Distribution, 3>("distribution", distribution,
                                                   {{{"balanced", Distribution::balanced},
                                                     {"round_robin", Distribution::round_robin},
                                                     {"least_loaded", Distribution::least_loaded}}});
    options.initiation = choose<Initiation, 2>("initiation", initiation, {{{"push", Initiation::push}, {"pull", Initiation::pull}}});
    options.completion = choose<Completion, 3>(
        "completion", completion, {{{"automatic", Completion::automatic}, {"slot", Completion::slot}, {"line", Completion::line}}});
    options.when_full = choose<WhenFull, 3>("when_full", when_full,
                                            {{{"defer", WhenFull::defer}, {"wait", WhenFull::wait}, {"refuse", WhenFull::refuse}}});
    options.pending_limit = in_range<std::size_t>("pending_limit", pending_limit, 0, most);
    options.prefetch = choose<Prefetch, 3>(
        "prefetch", prefetch, {{{"measured", Prefetch::measured}, {"always", Prefetch::always}, {"never", Prefetch::never}}});
    options.pin = pin;
    options.budget = budget;
    if (!(spin >= 0 && spin <= 1e6)) throw UsageError("spin is in seconds and must be 0 to 1,000,000");
    options.spin = std::chrono::nanoseconds(std::llround(spin * 1e9));
    options.local_store = in_range<std::size_t>("local_store", local_store, 0, most);
    options.nesting_limit = in_range<std::uint32_t>("nesting_limit", nesting_limit, 1, 1 << 20);
    return options;
}

std::vector<Handle> handles_of(const nb::iterable& handles, std::shared_ptr<Ledger>& ledger) {
    std::vector<Handle> plain;
    for (nb::handle item : handles) {
        if (!nb::isinstance<PythonHandle>(item)) throw UsageError("wait_any and wait_all take handles, as machine.call returns them");
        const auto& handle = nb::cast<const PythonHandle&>(item);
        plain.push_back(handle.handle);
        ledger = handle.ledger;
    }
    return plain;
}

void bind_handle(nb::module_& module) {
    nb::class_<PythonHandle>(module, "Handle", nb::is_final(),
                             "Stands for one issued task. Cheap; may be dropped, and outlives its machine (then it says so).")
        .def("wait", &PythonHandle::wait, nb::arg("help") = false,
             "Returns when the task has completed. With help=True this thread runs other tasks that it issued meanwhile.\n\n"
             "Other Python threads run meanwhile. Raises TaskFailed, TaskCancelled, MachineGone, WouldDeadlock.")
        .def("ready", [](const PythonHandle& handle) { return handle.handle.ready(); },
             "Has the task completed (or its machine gone)? Never blocks, never raises.")
        .def("cancel", [](const PythonHandle& handle) { return handle.handle.cancel(); },
             "Asks that the task be skipped if it has not started. False when it has completed already; wait() of a skipped task\n"
             "raises TaskCancelled.")
        .def("__eq__", [](const PythonHandle& a, const PythonHandle& b) { return a.handle == b.handle; })
        .def("__eq__", [](const PythonHandle&, nb::handle) { return false; })
        .def("__repr__", [](const PythonHandle& handle) {
            return std::string("penstock.Handle(") + (handle.handle.ready() ? "complete)" : "outstanding)");
        });
    module.def("wait_all", [](const nb::iterable& handles) {
        std::shared_ptr<Ledger> ledger;
        const auto plain = handles_of(handles, ledger);
        {
            const nb::gil_scoped_release release;
            wait_all(plain);
        }
        if (ledger) ledger->sweep();
    }, nb::arg("handles"), nb::sig("def wait_all(handles: Iterable[Handle]) -> None"),
        "Waits for all of these, helping. Raises the first failure when all have completed.");
    module.def("wait_any", [](const nb::iterable& handles) {
        std::shared_ptr<Ledger> ledger;
        const auto plain = handles_of(handles, ledger);
        std::size_t index = 0;
        {
            const nb::gil_scoped_release release;
            index = wait_any(plain);
        }
        if (ledger) ledger->sweep();
        return index;
    }, nb::arg("handles"), nb::sig("def wait_any(handles: Iterable[Handle]) -> int"),
        "Waits until one of these has completed and returns its index, helping. Raises UsageError for none, and what wait() would.");
}

constexpr const char* call_doc =
    "Issues a task that calls `body` with these arguments, and returns at once.\n\n"
    "`body`: a compiled function that returns nothing: a numba cfunc, a ctypes or cffi function pointer with its types declared, a\n"
    "capsule whose name is its C signature (SciPy's LowLevelCallable), a penstock.Body, or an address with `signature`\n"
    "('void (const float*, intptr_t, float)'). Tagged arrays In(x), Out(x), InOut(x) reach it as `T*, intptr_t n` (contiguous) or\n"
    "`T*, intptr_t rows, intptr_t columns, intptr_t pitch` (strided; pitch in elements), as its signature asks; numbers in the type that it\n"
    "declares. Arrays and body are held until the task has completed; do not touch what a task writes before that.\n\n"
    "Raises ArgumentError (element type, layout, range, null, overlap), BodyError for what is no compiled function, QueueFull and\n"
    "MachineGone. Costs about a microsecond, tags not included.";

}  // namespace

void bind_machine(nb::module_& module) {
    bind_handle(module);
    nb::class_<PythonMachine> machine(
        module, "Machine",
        "Targets, each a pinned thread that executes tasks, and the lanes to them. Any Python thread may call.\n\n"
        "    with penstock.Machine() as machine:\n"
        "        machine.call(scale, penstock.In(x), penstock.Out(y), 2.0)\n"
        "        machine.barrier()\n\n"
        "Leaving the block finishes all tasks and raises the first failure that nobody has seen.");
    machine
        .def("__init__",
             [](PythonMachine* self, std::optional<std::int64_t> targets, std::int64_t depth, const std::string& distribution,
                const std::string& initiation, const std::string& completion, const std::string& when_full, std::int64_t pending_limit,
                const std::string& prefetch, bool pin, const std::string& budget, double spin, std::int64_t local_store,
                std::int64_t nesting_limit) {
                 new (self) PythonMachine(options_of(targets, depth, distribution, initiation, completion, when_full, pending_limit, prefetch,
                                                     pin, budget, spin, local_store, nesting_limit));
             },
             nb::kw_only(), nb::arg("targets").none() = nb::none(), nb::arg("depth") = 64, nb::arg("distribution") = "balanced",
             nb::arg("initiation") = "push", nb::arg("completion") = "automatic", nb::arg("when_full") = "defer",
             nb::arg("pending_limit") = 1 << 20, nb::arg("prefetch") = "measured", nb::arg("pin") = true, nb::arg("budget") = "",
             nb::arg("spin") = 50e-6, nb::arg("local_store") = 0, nb::arg("nesting_limit") = 500,
             nb::sig("def __init__(self, *, targets: int | None = None, depth: int = 64, "
                     "distribution: Literal['balanced', 'round_robin', 'least_loaded'] = 'balanced', "
                     "initiation: Literal['push', 'pull'] = 'push', completion: Literal['automatic', 'slot', 'line'] = 'automatic', "
                     "when_full: Literal['defer', 'wait', 'refuse'] = 'defer', pending_limit: int = 1048576, "
                     "prefetch: Literal['measured', 'always', 'never'] = 'measured', pin: bool = True, budget: str = '', "
                     "spin: float = 5e-05, local_store: int = 0, nesting_limit: int = 500) -> None"),
             "`targets`: 0 to 256, by default one for each processor but the caller's; with 0 every task runs inside its call.\n"
             "`depth`: tasks that a lane holds, 1 to 1024. `distribution`: which target an unnamed task goes to. `initiation`,\n"
             "`completion`: how descriptors and completions travel. `when_full`: defer into the caller's deque up to\n"
             "`pending_limit` tasks (0: no limit), wait for a slot, or raise QueueFull. `prefetch`: of the next task's arguments.\n"
             "`pin`: each target to a processor of its own. `budget`: name of a processor budget to share with other processes.\n"
             "`spin`: seconds that an idle target spins before it sleeps. `local_store`: bytes of each target's, 0 for half of its L2 cache.\n"
             "`nesting_limit`: how deep tasks may wait inside tasks.\n\n"
             "Raises UsageError for values out of range, SystemError when the system gives no more threads or memory.")
        .def("call", [](PythonMachine& self, nb::handle body, const nb::args& arguments, nb::handle signature) {
                 return self.call(Initiator::any_target, body, arguments, signature);
             }, nb::arg("body").none(), nb::arg("arguments"), nb::kw_only(), nb::arg("signature").none() = nb::none(),
             nb::sig("def call(self, body: Any, *arguments: In | Out | InOut | float | int | bool, signature: str | None = None) -> Handle"),
             call_doc)
        .def("on", [](nb::handle self, int target) {
                 nb::cast<PythonMachine&>(self).live()->on(target);
                 return PythonTarget{nb::borrow(self), target};
             }, nb::arg("target"), nb::sig("def on(self, target: int) -> Target"),
             "The target with this number, 0 to targets-1: machine.on(2).call(...). Raises UsageError for one that there is not.")
        .def("barrier", &PythonMachine::barrier,
             "Waits for everything that this thread issued, running waiting tasks meanwhile. Other Python threads run too.\n"
             "Raises TaskFailed for the first failure; its `others` counts the rest.")
        .def("finish", &PythonMachine::finish,
             "Waits for everything that anybody issued. Raises TaskFailed, and WouldDeadlock inside a task.")
        .def("close", &PythonMachine::close, "Finishes all tasks, gives the threads back. Raises the first failure that nobody has seen. "
                                             "May be called again.")
        .def("__enter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __enter__(self) -> Machine"))
        .def("__exit__", [](PythonMachine& self, nb::handle, nb::handle error, nb::handle) {
                 try {
                     self.close();
                 } catch (const Error&) {
                     if (error.is_none()) throw;  // the error that ends the block comes first
                 }
             }, nb::arg("type").none(), nb::arg("error").none(), nb::arg("traceback").none(),
             nb::sig("def __exit__(self, type: Any, error: Any, traceback: Any) -> None"))
        .def_prop_ro("closed", &PythonMachine::closed, "Has the machine been closed?")
        .def_prop_ro("targets", [](const PythonMachine& self) { return self.live()->targets(); }, "Number of targets.")
        .def_prop_ro("description", [](const PythonMachine& self) { return self.live()->description(); },
                     "The hardware and the processor that each target is pinned to, in one line.")
        .def_prop_ro("held", &PythonMachine::held, "Calls whose arrays are held because their task is not known to have completed.")
        .def("waiting_report", [](const PythonMachine& self) { return self.live()->waiting_report(); },
             "What every waiting thread waits for, a line each.");
    bind_trace(module, machine);

    nb::class_<PythonTarget>(module, "Target", nb::is_final(), "One target of a machine, as the receiver of calls: machine.on(number).")
        .def("call", [](PythonTarget& self, nb::handle body, const nb::args& arguments, nb::handle signature) {
                 return nb::cast<PythonMachine&>(self.machine).call(self.number, body, arguments, signature);
             }, nb::arg("body").none(), nb::arg("arguments"), nb::kw_only(), nb::arg("signature").none() = nb::none(),
             nb::sig("def call(self, body: Any, *arguments: In | Out | InOut | float | int | bool, signature: str | None = None) -> Handle"),
             "As Machine.call; nobody but this target runs the task.")
        .def_prop_ro("number", [](const PythonTarget& self) { return self.number; }, "Its number, from 0.");
}

}  // namespace penstock::python
