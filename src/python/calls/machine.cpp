// Machine, Target and Handle for Python.
#include <nanobind/stl/tuple.h>

#include <cmath>

#include "python/calls/python_machine.hpp"

namespace penstock::python {
namespace {

/// A machine's target by number, as the receiver of calls.
struct PythonTarget {
    nb::object machine;
    int number;
};

constexpr Choices<Distribution::least_loaded> distributions{"balanced", "round_robin", "least_loaded"};
constexpr Choices<Initiation::pull> initiations{"push", "pull"};
constexpr Choices<Completion::line> completions{"automatic", "slot", "line"};
constexpr Choices<WhenFull::refuse> when_full_words{"defer", "wait", "refuse"};
constexpr Choices<Prefetch::never> prefetches{"measured", "always", "never"};
constexpr Choices<Isolation::process> isolations{"none", "process"};

template <class Integer>
Integer in_range(const char* option, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high)
        throw UsageError(std::string(option) + " must be " + std::to_string(low) + " to " + std::to_string(high) +
                         ", not " + std::to_string(value));
    return static_cast<Integer>(value);
}

bool launched = false;  // with the interpreter's lock

/// launch(), with advice for Python.
void launch_from_python() {
    try {
        launch();
    } catch (const UsageError&) {
        throw UsageError(
            "launch() comes too late: this process has several threads already, and importing NumPy starts some; "
            "call penstock.launch() right behind `import penstock`");
    }
    launched = true;
}

/// Throws TypeError for an argument that there is not. `known`: those that there are.
[[noreturn]] void refuse_name(const char* of, const std::string& name, nb::handle known) {
    const nb::object close = imported("difflib", "get_close_matches")(name, known, 1);
    const std::string said = std::string(of) + " has no argument '" + name;
    if (nb::len(close) != 0)
        throw nb::type_error((said + "'; did you mean '" + nb::cast<std::string>(close[0]) + "'?").c_str());
    throw nb::type_error((said + "'; it has " + nb::cast<std::string>(nb::str(", ").attr("join")(known))).c_str());
}

/// Arguments that have names, taken one by one, so that a wrong one is told by its name and not by a whole signature.
class NamedArguments {
  public:
    NamedArguments(const char* of, const nb::kwargs& given) : of_(of), given_(given) {}

    /// Throws TypeError where it is not `what`.
    template <class T>
    T take(const char* name, T otherwise, const char* what) {
        known_.append(name);
        if (!given_.contains(name)) return otherwise;
        ++taken_;
        T value{};
        const nb::object given = given_[name];
        constexpr bool whole = std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::optional<std::int64_t>>;
        nb::object taken = given;
        if (whole && PyIndex_Check(given.ptr())) taken = imported("operator", "index")(given);
        if (!nb::try_cast(taken, value, !whole))
            throw nb::type_error(
                (std::string(of_) + ": " + name + " is " + what + ", not " + nb::cast<std::string>(nb::repr(given)))
                    .c_str());
        return value;
    }
    /// Throws TypeError for one that was not taken.
    void end() const {
        if (taken_ == given_.size()) return;
        for (const auto& [name, value] : given_) {
            if (PySequence_Contains(known_.ptr(), name.ptr()) == 1) continue;
            refuse_name(of_, nb::cast<std::string>(name), known_);
        }
    }

  private:
    const char* of_;
    const nb::kwargs& given_;
    nb::list known_;
    std::size_t taken_ = 0;
};

/// What other libraries call the number of targets.
constexpr std::array<std::string_view, 8> words_for_targets{"workers", "max_workers", "num_workers", "n_workers",
                                                            "n_jobs",  "processes",   "threads",     "num_threads"};

void make_machine(PythonMachine* self, const nb::args& positional, const nb::kwargs& given) {
    if (positional.size() != 0)
        throw nb::type_error(("Machine(): its arguments have names, as in Machine(targets=4); " +
                              nb::cast<std::string>(nb::repr(positional[0])) + " has none")
                                 .c_str());
    for (const std::string_view word : words_for_targets)
        if (given.contains(word.data()))
            throw nb::type_error(("Machine() has no argument '" + std::string(word) +
                                  "': its workers are its targets, as in Machine(targets=4)")
                                     .c_str());
    constexpr std::int64_t most = std::int64_t{1} << 48;
    constexpr const char *whole = "a whole number", *text = "a text", *seconds = "a number of seconds";
    using Integer = std::int64_t;
    const MachineOptions usual;
    NamedArguments named("Machine()", given);
    MachineOptions options;
    const auto word = [&]<class Choice, std::size_t n>(const char* name, Choice& choice,
                                                       const std::array<std::string_view, n>& choices) {
        const auto first = std::string(choices[static_cast<std::size_t>(choice)]);
        choice = choose<Choice>(name, named.take(name, first, text), choices);
    };
    const auto targets = named.take("targets", std::optional<Integer>(), "a whole number or None");
    if (targets) options.targets = in_range<int>("targets", *targets, 0, MachineOptions::max_targets);
    options.depth = in_range<std::uint32_t>("depth", named.take("depth", Integer{usual.depth}, whole), 1,
                                            MachineOptions::max_depth);
    word("distribution", options.distribution, distributions);
    word("initiation", options.initiation, initiations);
    word("completion", options.completion, completions);
    word("when_full", options.when_full, when_full_words);
    options.pending_limit = in_range<std::size_t>(
        "pending_limit", named.take("pending_limit", static_cast<Integer>(usual.pending_limit), whole), 0, most);
    word("prefetch", options.prefetch, prefetches);
    options.pin = named.take("pin", true, "True or False");
    options.budget = named.take("budget", std::string(), text);
    const auto spin = named.take("spin", std::chrono::duration<double>(usual.spin).count(), seconds);
    if (!(spin >= 0 && spin <= 1e6)) throw UsageError("spin is in seconds and must be 0 to 1,000,000");
    options.spin = std::chrono::nanoseconds(std::llround(spin * 1e9));
    options.local_store = in_range<std::size_t>("local_store", named.take("local_store", Integer{0}, whole), 0, most);
    options.buffer_bytes =
        in_range<std::size_t>("buffer_bytes", named.take("buffer_bytes", Integer{0}, whole), 0, most);
    options.nesting_limit = in_range<std::uint32_t>(
        "nesting_limit", named.take("nesting_limit", Integer{usual.nesting_limit}, whole), 1, 1 << 20);
    word("isolation", options.isolation, isolations);
    const auto time_limit = named.take("time_limit", std::optional<double>(), "a number of seconds or None");
    const auto worker_memory = named.take("worker_memory", Integer{0}, "a number of bytes");
    const auto classes = named.take("classes", std::vector<std::tuple<std::string, int, std::string, double>>(),
                                    "a list of (name, targets, isolation, speed)");
    named.end();
    for (const auto& [name, count, where, speed] : classes)
        options.classes.push_back({name, count, choose<Isolation>("isolation of a class", where, isolations), speed});
    const bool in_a_class =
        std::ranges::any_of(options.classes, [](const auto& of) { return on_worker_processes(of); });
    if ((on_worker_processes(options) || in_a_class) && !launched)
        throw UsageError(
            "worker processes come from a process that penstock.launch() starts; call it right behind `import "
            "penstock`");
    if (time_limit) {
        if (!(*time_limit > 0 && *time_limit <= 1680))
            throw UsageError("time_limit is in seconds and must be 0.001 to 1,680");
        options.time_limit = std::chrono::nanoseconds(std::llround(*time_limit * 1e9));
    }
    options.worker_memory = in_range<std::size_t>("worker_memory", worker_memory, 0, most);
    new (self) PythonMachine(options);
}

constexpr const char* call_doc =
    "Issues a task that calls `body` with these arguments, and returns at once.\n\n"
    "`body`: a compiled function that returns nothing: a numba cfunc, a ctypes or cffi function pointer with its\n"
    "types declared, a capsule whose name is its C signature (SciPy's LowLevelCallable), a penstock.Body, or an\n"
    "address with `signature` ('void (const float*, intptr_t, float)'). Tagged arrays In(x), Out(x), InOut(x) reach\n"
    "it as `T*, intptr_t n` (contiguous) or `T*, intptr_t rows, intptr_t columns, intptr_t pitch` (strided; pitch in\n"
    "elements), as its signature asks; numbers in the type that it declares. Arrays and body are held until the task\n"
    "has completed; do not touch what a task writes before that.\n\n"
    "Or any other callable: a Python body, which runs in one of the machine's worker interpreters. It is carried\n"
    "over once, as it is at its first call. Tagged arrays reach it as NumPy arrays: those of machine.array are used\n"
    "in place, others are copied there and, Out and InOut, back. Everything else is pickled. What it returns is\n"
    "handle.result(). `time_limit`: seconds after which it is ended, with its worker.\n\n"
    "`after`: handles of tasks, of the same kind of body, that complete before it starts; where one fails it does\n"
    "not run (PredecessorFailed). `priority`: 'high' goes before what waits. `then`: is called with the handle, by\n"
    "this thread in its next wait, barrier or poll once the task has completed. Of compiled bodies: `deadline`,\n"
    "seconds after which the task counts as late in the trace; `affine`, to send it where its data last lay;\n"
    "`notification`, how this thread learns that it has completed ('interrupt': `await` needs no thread then). A\n"
    "penstock.Chain is called like a compiled body.\n\n"
    "Raises ArgumentError (element type, layout, range, null, overlap), BodyError for what is no function,\n"
    "UsageError for what cannot be carried over, QueueFull and MachineGone. Costs about a microsecond, tags not\n"
    "included.";

/// Of call(): a handle has the type of what a Python body returns.
std::string call_signature(const char* body, const char* result) {
    return std::string("def call(self, body: ") + body +
           ", *arguments: Any, signature: str | None = None, time_limit: float | None = None, after: "
           "Iterable[Handle[Any]] | None = None, priority: Literal['normal', 'high'] | None = None, then: "
           "Callable[[Handle[Any]], Any] | None = None, deadline: float | None = None, affine: bool | None = None, "
           "notification: Literal['polled', 'mailbox', 'interrupt'] | None = None) -> Handle[" +
           result + "]";
}

/// A call that has a word that calls do not have. Throws TypeError.
[[noreturn]] void refuse_call(const nb::args& arguments, const nb::kwargs& words) {
    if (arguments.size() == 0) throw nb::type_error("call(): name the function first: machine.call(function, ...)");
    const nb::object known =
        nb::make_tuple("signature", "time_limit", "after", "priority", "then", "deadline", "affine", "notification");
    for (const auto& [name, value] : words)
        if (PySequence_Contains(known.ptr(), name.ptr()) != 1) {
            const auto word = nb::cast<std::string>(name);
            if (nb::len(imported("difflib", "get_close_matches")(word, known, 1)) != 0)
                refuse_name("call()", word, known);
            throw nb::type_error(("call() has no argument '" + word +
                                  "'; to give it to the function: functools.partial(f, " + word +
                                  "=...), or by its place")
                                     .c_str());
        }
    throw nb::type_error("call(): these arguments do not fit");
}

/// `receiver(self)`: the machine, and the target that is to run the task.
template <class T, class Receiver>
void add_call(nb::class_<T>& bound, Receiver receiver, const char* doc) {
    bound.def(
        "call",
        [receiver](T& self, nb::handle body, const nb::args& arguments, nb::handle signature, nb::handle time_limit,
                   nb::handle after, nb::handle priority, nb::handle then, nb::handle deadline, nb::handle affine,
                   nb::handle notification) {
            const auto [machine, target] = receiver(self);
            return machine->call(target, body, arguments,
                                 {signature, time_limit, after, priority, then, deadline, affine, notification});
        },
        nb::arg("body").none(), nb::arg("arguments"), nb::kw_only(), or_none("signature"), or_none("time_limit"),
        or_none("after"), or_none("priority"), or_none("then"), or_none("deadline"), or_none("affine"),
        or_none("notification"), nb::sig(call_signature("Callable[..., _T]", "_T").c_str()), doc);
    // Reached by what does not fit the first only.
    bound.def(
        "call", [](T&, const nb::args& arguments, const nb::kwargs& words) { refuse_call(arguments, words); },
        nb::arg("arguments"), nb::arg("words"), nb::sig(call_signature("Any", "Any").c_str()));
}

}  // namespace

void bind_machine(nb::module_& module) {
    module.def("launch", &launch_from_python,
               "Forks a small process from which the worker processes of Machine(isolation='process') come. Call it\n"
               "before anything starts a thread: right behind `import penstock`, before NumPy. Raises UsageError\n"
               "when it comes too late. A second call does nothing.");
    imported("atexit", "register")(nb::cpp_function([here = Origin{}] {
        if (!here.left_behind()) PythonMachine::close_all();
    }));
    bind_handle(module);
    bind_worker_process(module);
    nb::class_<PythonMachine> machine(
        module, "Machine",
        "Targets, each a pinned thread that executes tasks, and the lanes to them. Any Python thread may call.\n\n"
        "    with penstock.Machine() as machine:\n"
        "        machine.call(scale, penstock.In(x), penstock.Out(y), 2.0)\n"
        "        machine.barrier()\n\n"
        "Leaving the block finishes all tasks and raises the first failure that nobody has seen.\n"
        "Ctrl-C that leaves it ends the Python bodies that run.");
    machine
        .def(
            "__init__", &make_machine, nb::arg("positional"), nb::arg("options"),
            nb::sig("def __init__(self, *, targets: int | None = None, depth: int = 64, distribution: "
                    "Literal['balanced', 'round_robin', 'least_loaded'] = 'balanced', initiation: Literal['push', "
                    "'pull'] = 'push', completion: Literal['automatic', 'slot', 'line'] = 'automatic', when_full: "
                    "Literal['defer', 'wait', 'refuse'] = 'defer', pending_limit: int = 1048576, prefetch: "
                    "Literal['measured', 'always', 'never'] = 'measured', pin: bool = True, budget: str = '', spin: "
                    "float = 5e-05, local_store: int = 0, buffer_bytes: int = 0, nesting_limit: int = 500, isolation: "
                    "Literal['none', "
                    "'process'] = 'none', time_limit: float | None = None, worker_memory: int = 0, classes: "
                    "Sequence[tuple[str, int, Literal['none', 'process'], float]] = ()) -> None"),
            "`targets`: 0 to 256, by default one for each processor but the caller's; with 0 every task runs inside\n"
            "its call. `depth`: tasks that a lane holds, 1 to 1024. `distribution`: which target an unnamed task\n"
            "goes to. `initiation`, `completion`: how descriptors and completions travel. `when_full`: defer into\n"
            "the caller's deque up to `pending_limit` tasks (0: no limit), wait for a slot, or raise QueueFull.\n"
            "`prefetch`: of the next task's arguments. `pin`: each target to a processor of its own. `budget`: name\n"
            "of a processor budget to share with other processes. `spin`: seconds that an idle target, or a thread\n"
            "that waits, spins before it sleeps (with more of them than processors at most 20 us). `local_store`:\n"
            "bytes of each target's, 0 for half of its L2 cache. `buffer_bytes`: of buffers that the filters of one\n"
            "target may have under way before they wait for their own to come back, 0 for no limit.\n"
            "`nesting_limit`: how deep tasks may wait inside tasks.\n"
            "`isolation`: 'process' runs compiled bodies in worker processes, where a crash fails its own task;\n"
            "penstock.launch() must have been called. `time_limit`: seconds that a task may take there.\n"
            "`worker_memory`: bytes that a worker may take, 0 for no limit.\n"
            "`classes`: classes of targets in the place of `targets` and `isolation`, each a TargetClass. Targets are\n"
            "numbered class by class, threads first; plain calls go to the threads.\n\n"
            "Raises UsageError for values out of range and without launch(), SystemError when the system gives no\n"
            "more threads or memory.")
        .def(
            "on",
            [](nb::handle self, nb::handle target) {
                return PythonTarget{nb::borrow(self), nb::cast<PythonMachine&>(self).target_of(target)};
            },
            nb::arg("target"), nb::sig("def on(self, target: int | str) -> Target"),
            "The target with this number, 0 to all_targets-1: machine.on(2).call(...); or a target of this class, "
            "each\n"
            "in turn: machine.on('fast'). Raises UsageError for one that there is not.")
        .def("barrier", &PythonMachine::barrier,
             "Waits for everything that this thread issued, running waiting tasks meanwhile. Other Python threads\n"
             "run too. Raises TaskFailed for the first failure; its `others` counts the rest.")
        .def("finish", &PythonMachine::finish,
             "Waits for everything that anybody issued. Raises TaskFailed, and WouldDeadlock inside a task.")
        .def("close", &PythonMachine::close,
             "Finishes all tasks, gives the threads back. Raises the first failure that nobody has seen. May be "
             "called again.")
        .def(
            "map",
            [](nb::handle self, nb::handle function, const nb::args& iterables, nb::handle chunksize) {
                return imported("penstock.executor", "mapped")(self, function, nb::borrow<nb::tuple>(iterables),
                                                               chunksize);
            },
            nb::arg("function"), nb::arg("iterables"), nb::kw_only(), or_none("chunksize"),
            nb::sig("def map(self, function: Callable[..., _T], *iterables: Iterable[Any], chunksize: int | None = "
                    "None) -> Iterator[_T]"),
            "The results of function(*items) in the order of the items, as the built-in map gives them, run by the\n"
            "worker interpreters.\n\n"
            "It starts at once and takes items as results are taken, so that the iterables may be without end.\n"
            "`chunksize`: items that travel together, by default as many as make about a millisecond. Raises\n"
            "TaskFailed where the first failure's result would come.")
        .def(
            "executor",
            [](nb::handle self) { return imported("penstock.executor", "Executor")(nb::arg("machine") = self); },
            nb::sig("def executor(self) -> Executor"),
            "This machine as a concurrent.futures.Executor: submit() with its futures, map(), shutdown(). Bodies\n"
            "raise their own exceptions there. A thread of its own finishes what has completed.")
        .def(
            "notification_descriptor", [](PythonMachine& self) { return self.workers()->notice(); },
            "A descriptor that becomes readable when a Python body completes after poll(): for select, epoll and\n"
            "event loops. It is the machine's; do not read or close it.")
        .def(
            "poll",
            [](PythonMachine& self) {
                const auto live = self.live();
                without_interpreter([&] { live->poll(); });
                if (live->targets() != 0) self.workers()->rearm();
            },
            "Finishes the Python bodies that have completed, runs the call-backs that are due, and asks for the "
            "descriptor to tell of more.")
        .def("_submit", &PythonMachine::submit, nb::arg("body"), nb::arg("arguments"), nb::arg("keywords"))
        .def(
            "_is_compiled",
            [](const PythonMachine& self, nb::handle body) { return !self.is_python_body(body, nb::none()); },
            nb::arg("body"))
        .def("array", &PythonMachine::array, nb::arg("shape"), nb::arg("dtype") = "float64",
             nb::sig("def array(self, shape: int | Sequence[int], dtype: Any = 'float64') -> Any"),
             "A NumPy array of zeros in the machine's shared heap: every target and every worker interpreter uses it\n"
             "in place. It keeps its memory, so it may outlive the machine. Raises ElementError for types that hold\n"
             "Python objects, SystemError when there is not that much memory.")
        .def_prop_ro("worker_pids", &PythonMachine::worker_pids,
                     "Process numbers of the worker interpreters, 0 for one that is being started; empty before the "
                     "first Python body.")
        .def_prop_ro("closed", &PythonMachine::closed, "Has the machine been closed?")
        .def_prop_ro(
            "workers",
            [](const PythonMachine& self) {
                static_cast<void>(self.live());
                return self.worker_count();
            },
            "Number of worker interpreters that Python bodies run in: one for each target or, on a machine whose\n"
            "number of targets was left to itself, one for each processor.")
        .def_prop_ro("targets", used<PythonMachine, &Machine::targets>(), "Number of targets that plain calls go to.")
        .def_prop_ro("all_targets", used<PythonMachine, &Machine::all_targets>(), "Number of targets of all classes.")
        .def("targets_of", used<PythonMachine, &Machine::targets_of>(), nb::arg("target_class"),
             "The numbers of the targets of a class. Raises UsageError when there is no such class.")
        .def_prop_ro("description", used<PythonMachine, &Machine::description>(),
                     "The hardware and the processor that each target is pinned to, in one line.")
        .def_prop_ro("held", &PythonMachine::held,
                     "Calls whose arrays are held because their task is not known to have completed.")
        .def("waiting_report", used<PythonMachine, &Machine::waiting_report>(),
             "What every waiting thread waits for, a line each.");
    add_call(machine, [](PythonMachine& self) { return std::pair(&self, Initiator::any_target); }, call_doc);
    add_block(machine, "def __enter__(self) -> Machine", [](PythonMachine& self, nb::handle error) {
        if (nb::isinstance(error, PyExc_KeyboardInterrupt)) self.abandon();
        try {
            self.close_or_abandon();
        } catch (const Error&) {
            if (error.is_none()) throw;  // the error that ends the block comes first
        }
    });
    machine
        .def(
            "__aenter__", [](nb::handle self) { return imported("penstock.asynchronous", "enter")(self); },
            nb::sig("def __aenter__(self) -> Coroutine[Any, Any, Machine]"))
        .def(
            "__aexit__",
            [](nb::handle self, nb::handle, nb::handle error, nb::handle) {
                return imported("penstock.asynchronous", "leave")(self, error);
            },
            nb::arg("type").none(), nb::arg("error").none(), nb::arg("traceback").none(),
            nb::sig("def __aexit__(self, type: Any, error: Any, traceback: Any) -> Coroutine[Any, Any, None]"),
            "As the end of `with`; other coroutines run while the tasks finish.")
        .def("__repr__", [](const PythonMachine& self) {
            if (self.closed()) return std::string("penstock.Machine(closed)");
            return "penstock.Machine(" + std::to_string(self.live()->targets()) +
                   " targets: " + self.live()->description() + ")";
        });
    bind_trace(module, machine);
    bind_resident(module, machine);
    bind_loops(machine);
    bind_dependences(module);
    bind_chain(module);

    auto target = final_class<PythonTarget>(module, "Target",
                                            "One target of a machine, as the receiver of calls: machine.on(number).");
    target.def_ro("number", &PythonTarget::number, "Its number, from 0.");
    add_call(
        target, [](PythonTarget& self) { return std::pair(&nb::cast<PythonMachine&>(self.machine), self.number); },
        "As Machine.call; nobody but this target runs the task.");
}

}  // namespace penstock::python
