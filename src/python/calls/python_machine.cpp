#include "python/calls/python_machine.hpp"

#include <cerrno>
#include <set>

#include "penstock/topology.hpp"
#include "python/calls/chain.hpp"
#include "python/calls/dependences.hpp"
#include "python/errors.hpp"
#include "python/streams/stream_run.hpp"

namespace penstock::python {
namespace {

/// Destroying a machine waits for its tasks, and a body may need the interpreter (a ctypes callback). The last
/// reference always goes where the interpreter's lock is held: live() is called, and its result dropped, outside of
/// releases.
struct DestroyWithoutInterpreter {
    void operator()(Machine* machine) const {
        const nb::gil_scoped_release release;
        delete machine;
    }
};

std::chrono::nanoseconds limit_of(double seconds) {
    if (!(seconds > 0 && seconds <= 1e9))
        throw UsageError("time_limit and deadline are in seconds, more than 0 and at most 1,000,000,000");
    return std::chrono::ceil<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

/// Machines that are, closed or not. With the interpreter's lock.
std::set<PythonMachine*>& open_machines() {
    static std::set<PythonMachine*> all;
    return all;
}

/// What `finish` throws, to sys.unraisablehook: nobody is there who would catch it.
template <class Finish>
void tell_failures_of(Finish&& finish) {
    try {
        finish();
    } catch (const MachineGone&) {
        // The child of a fork: they are its parent's.
    } catch (const Error&) {
        const nb::object error = fact_of(std::current_exception());
        PyErr_SetObject(error.type().ptr(), error.ptr());
        PyErr_WriteUnraisable(nullptr);
    }
}

constexpr Choices<Priority::high> priorities{"normal", "high"};
constexpr Choices<Notification::interrupt> notifications{"polled", "mailbox", "interrupt"};

/// The first of the choices where nothing is said.
template <class Choice, std::size_t n>
Choice choose_or_first(const char* option, nb::handle given, const std::array<std::string_view, n>& choices) {
    return given.is_none() ? Choice{} : choose<Choice>(option, given, choices);
}

/// What a Python body is asked to be called with.
TaskWishes wishes_of(const CallWords& asked, int target) {
    TaskWishes wishes{target};
    if (!asked.time_limit.is_none()) wishes.limit = limit_of(nb::cast<double>(asked.time_limit));
    wishes.urgent = choose_or_first<Priority>("priority", asked.priority, priorities) == Priority::high;
    if (!asked.deadline.is_none() || !asked.affine.is_none() || !asked.notification.is_none())
        throw UsageError("deadline=, affine= and notification= are for compiled bodies; a Python body has time_limit=");
    if (asked.after.is_none()) return wishes;
    for (nb::handle item : asked.after) {
        const auto& handle = nb::cast<const PythonHandle&>(item);
        if (handle.task == nullptr)
            throw UsageError("a Python body can come after Python bodies only; wait for the compiled ones first");
        wishes.after.push_back(handle.task);
    }
    return wishes;
}

/// Calls a Python callable with the handle of a compiled body, with the interpreter's lock, which whoever polls has
/// not.
std::function<void(Handle)> call_back(nb::handle callable, const std::shared_ptr<Ledger>& ledger) {
    return [held = hold(nb::borrow(callable)), ledger](Handle handle) {
        const nb::gil_scoped_acquire acquire;
        try {
            (*held)(PythonHandle{handle, ledger, {}, {}, {}});
        } catch (nb::python_error& error) {
            error.discard_as_unraisable(*held);
        }
    };
}

/// What a compiled body is asked to be called with.
OptionsOrHandles way_of(const CallWords& asked, int target, const std::shared_ptr<Ledger>& ledger) {
    if (!asked.after.is_none()) {
        if (!asked.priority.is_none() || !asked.then.is_none() || !asked.deadline.is_none() ||
            !asked.affine.is_none() || !asked.notification.is_none() || !asked.time_limit.is_none())
            throw UsageError(
                "after= of a compiled body stands alone, without priority=, then=, deadline=, affine= and "
                "notification=");
        std::vector<Handle> handles;
        for (nb::handle item : asked.after) {
            const auto& handle = nb::cast<const PythonHandle&>(item);
            if (handle.task != nullptr)
                throw UsageError("a compiled body can come after compiled bodies only; wait for the Python ones first");
            handles.push_back(handle.handle);
        }
        return handles;
    }
    CallOptions options;
    options.target = target;
    options.priority = choose_or_first<Priority>("priority", asked.priority, priorities);
    if (!asked.then.is_none()) options.then = call_back(asked.then, ledger);
    if (!asked.deadline.is_none()) options.deadline = limit_of(nb::cast<double>(asked.deadline));
    if (!asked.time_limit.is_none()) options.time_limit = limit_of(nb::cast<double>(asked.time_limit));
    options.notification = choose_or_first<Notification>("notification", asked.notification, notifications);
    options.affine = !asked.affine.is_none() && nb::cast<bool>(asked.affine);
    return options;
}

}  // namespace

PythonMachine::PythonMachine(const MachineOptions& options) {
    machine_ = without_interpreter(
        [&] { return std::shared_ptr<Machine>(new Machine(options), DestroyWithoutInterpreter{}); });
    open_machines().insert(this);
    worker_count_ = machine_->targets();
    const bool by_default = options.targets == MachineOptions::one_per_processor && options.classes.empty();
    if (by_default && worker_count_ < Topology::here().usable()) ++worker_count_;
}

PythonMachine::~PythonMachine() {
    open_machines().erase(this);
    if (machine_ == nullptr || pool_ == nullptr || !nb::is_alive()) return;
    try {
        tell_failures_of([this] { throw_failures({}, pool_->finish()); });
    } catch (...) {
        PyErr_Clear();  // the interpreter is ending
    }
}

void PythonMachine::close_all() {
    const bool interrupted = PySys_GetObject("last_type") == PyExc_KeyboardInterrupt;  // what ended the program
    for (PythonMachine* const machine : std::vector(open_machines().begin(), open_machines().end())) {
        const nb::object held = nb::find(machine);
        if (!held.is_valid() || !open_machines().contains(machine)) continue;
        if (interrupted) machine->abandon();
        tell_failures_of([&] { machine->close_or_abandon(); });
    }
}

std::shared_ptr<Machine> PythonMachine::live() const {
    if (machine_ == nullptr) throw MachineGone("this machine was closed; make a new one");
    return machine_;
}

void PythonMachine::add_run(const std::shared_ptr<LiveRun>& run) {
    std::erase_if(runs_, [](const auto& known) { return known.expired(); });
    runs_.push_back(run);
}

void PythonMachine::abandon() {
    if (pool_ != nullptr) pool_->abandon();
}

void PythonMachine::close_or_abandon() {
    try {
        close();
    } catch (const nb::python_error&) {
        abandon();
        try {
            close();
        } catch (const Error&) {
            // Ctrl-C comes first.
        }
        throw;
    }
}

void PythonMachine::close() {
    if (machine_ == nullptr) return;
    auto machine = live();
    if (machine->in_task())
        throw WouldDeadlock("a machine cannot be closed by one of its own tasks; close it where it was made");
    for (const auto& known : std::exchange(runs_, {}))
        if (const auto run = known.lock()) without_interpreter([&] { run->stop(); });
    std::exception_ptr failure;
    try {
        finish();
    } catch (const nb::python_error&) {
        throw;  // Ctrl-C: there are tasks still
    } catch (...) {
        failure = std::current_exception();
    }
    pool_ = nullptr;
    for (PythonDependences* order : std::exchange(orders_, {})) order->end();
    machine_ = nullptr;
    machine = nullptr;
    ledger_->sweep();
    if (failure != nullptr) std::rethrow_exception(failure);
}

bool PythonMachine::may_block(const Machine& machine) const {
    const MachineOptions& options = machine.options();
    if (machine.targets() == 0) return true;  // the body runs inside the call
    const bool deferred = options.when_full == WhenFull::defer;
    const std::size_t room = deferred ? options.pending_limit : options.depth;
    return (room != 0 && issued_ >= room) || machine.in_task();
}

bool CallWords::plain() const noexcept {
    return notification.is_none() && time_limit.is_none() && after.is_none() && priority.is_none() && then.is_none() &&
           deadline.is_none() && affine.is_none();
}

int PythonMachine::target_of(nb::handle given) {
    const auto machine = live();
    if (!nb::isinstance<nb::str>(given)) {
        int number = 0;
        if (!nb::try_cast(given, number))
            throw UsageError("a target is named by its number, or by the name of its class");
        machine->on(number);  // refuses a target that there is not
        return number;
    }
    const auto all = machine->targets_of(nb::cast<std::string>(given));
    return all[next_of_class_++ % all.size()];
}

std::pair<std::shared_ptr<Machine>, int> PythonMachine::place_of(int target) const {
    const auto machine = live();
    if (target < machine->targets() || machine->workers() == nullptr) return {machine, target};
    return {std::shared_ptr<Machine>(machine, machine->workers()), target - machine->targets()};
}

PythonHandle PythonMachine::call(int number, nb::handle body, const nb::args& arguments, const CallWords& asked) {
    const nb::handle signature = asked.signature;
    const bool plain = asked.plain();
    if (is_python_body(body, signature)) {
        if (const auto handle = call_just_in_time(number, body, arguments, asked)) return *handle;
        const PythonHandle handle =
            call_python(body, arguments, {}, plain ? TaskWishes{number} : wishes_of(asked, number));
        if (!asked.then.is_none())
            handle.add_done_callback(imported("functools", "partial")(asked.then, nb::cast(handle)));
        return handle;
    }
    const auto place = place_of(number);
    const auto& machine = place.first;
    const int target = place.second;
    const bool isolated = on_worker_processes(machine->options());
    if (!asked.time_limit.is_none() && !isolated)
        throw UsageError(
            "a time limit is for bodies that can be ended: Python bodies, which run in processes of their own, and "
            "compiled ones on a machine with isolation='process'");
    std::optional<OptionsOrHandles> longer;
    if (!plain) longer = way_of(asked, target, ledger_);
    const OptionsOrHandles* const way = longer ? &*longer : nullptr;
    if (PythonChain* const chain = exactly<PythonChain>(body)) [[unlikely]]
        return call_chain(number, *chain, body, arguments, way);
    nb::object held_body = body_of(body, signature);
    const Words words{*nb::inst_ptr<Body>(held_body), arguments, Takes::residents};
    const CarriedBody* const carried = isolated ? &carried_.find(*machine, words) : nullptr;
    if (isolated && !words.later().empty())
        throw CannotCarryOver(words.plan().name(), words.later().front().number,
                              "resident data are kept by thread targets only");
    const auto issue = [&] {
        if (target != Initiator::any_target) machine->on(target);  // refuses a target that there is not
        if (carried != nullptr) [[unlikely]]
            return issue_carried(*machine, target, way, *carried, words);
        if (!words.later().empty()) [[unlikely]]
            return issue_resident(*machine, target, way, words);
        return issue_foreign(words.plan(), words.data(), [&](auto&& closure) {
            if (!comes_after_others(way)) [[likely]]
                return issue_closure(*machine, target, way, std::move(closure));
            const auto after = machine->after(std::span<const Handle>(std::get<std::vector<Handle>>(*way)));
            return target == Initiator::any_target ? after.call(std::move(closure))
                                                   : after.on(target).call(std::move(closure));
        });
    };
    const Handle handle = without_lock_if_it_may_block(*machine, issue);
    return keep(handle, std::move(held_body), nb::borrow(arguments), way, machine);
}

PythonHandle PythonMachine::call_chain(int target, PythonChain& chain, nb::handle object, const nb::args& arguments,
                                       const OptionsOrHandles* way) {
    const auto machine = place_of(target).first;
    require_thread_targets(*machine, chain.name(), 0,
                           "chains are kept by thread targets only; issue its steps as calls of their own");
    if (target != Initiator::any_target) machine->on(target);  // refuses a target that there is not
    const auto issue = chain.begin(machine->initiator(), arguments);
    const Handle handle =
        without_lock_if_it_may_block(*machine, [&] { return issue_chain(*machine, target, way, issue); });
    return keep(handle, nb::borrow(object), nb::borrow(arguments), way, machine);
}

PythonHandle PythonMachine::keep(Handle handle, nb::object body, nb::object arguments, const OptionsOrHandles* way,
                                 const std::shared_ptr<Machine>& machine) {
    ++issued_;
    ledger_->keep(handle, std::move(body), std::move(arguments));
    PythonHandle made{handle, ledger_, {}, {}, {}};
    const auto* const options = way == nullptr ? nullptr : std::get_if<CallOptions>(way);
    if (options != nullptr && options->notification == Notification::interrupt && !machine->in_task())
        made.interrupt =
            std::make_shared<const Interrupt>(machine, machine->notification_descriptor(), PyThread_get_thread_ident());
    return made;
}

// ---- Python bodies ----

bool PythonMachine::is_python_body(nb::handle body, nb::handle signature) const {
    static const nb::handle function_type = imported("types", "FunctionType").release();
    const nb::handle type = body.type();
    if (type.is(function_type) && signature.is_none()) return true;
    if (!signature.is_none() || nb::isinstance<Body>(body) || PyCallable_Check(body.ptr()) == 0) return false;
    if (pool_ != nullptr && pool_->knows(body)) return true;
    static const nb::handle is_compiled = imported("penstock.body", "is_compiled").release();
    return !nb::cast<bool>(is_compiled(body));
}

std::shared_ptr<WorkerPool> PythonMachine::workers() {
    if (pool_ != nullptr) return pool_;
    const auto machine = live();
    WorkerCommand command;
    command.arguments = nb::cast<std::vector<std::string>>(imported("penstock.interpreters", "command")());
    for (char** variable = environ; *variable != nullptr; ++variable) command.environment.emplace_back(*variable);
    for (int t = 0; t < machine->targets(); ++t) command.processors.push_back(machine->processor(t));
    const auto count = static_cast<std::uint32_t>(worker_count_);
    command.processors.resize(count, -1);  // one that is for everybody has no processor of its own
    // Other threads may have run meanwhile, and have closed the machine or come first.
    static_cast<void>(live());
    if (pool_ != nullptr) return pool_;
    pool_ = std::make_shared<WorkerPool>(count, machine->options(), std::make_shared<TaskHeap>(machine->heap()),
                                         std::move(command));
    return pool_;
}

std::vector<int> PythonMachine::worker_pids() const {
    static_cast<void>(live());
    return pool_ == nullptr ? std::vector<int>{} : pool_->pids();
}

PythonHandle PythonMachine::call_python(nb::handle body, const nb::tuple& arguments, nb::handle names,
                                        const TaskWishes& wishes) {
    const auto machine = live();
    if (wishes.target != Initiator::any_target) machine->on(wishes.target);  // refuses a target that there is not
    if (wishes.target >= machine->targets() && machine->targets() != 0)
        throw UsageError(
            "a Python body runs in a worker interpreter, of which there is one for each thread of the machine: name a "
            "class of threads");
    if (machine->targets() == 0) return {{}, ledger_, run_at_once(body, arguments, names), {}, {}};
    const auto pool = workers();
    return {{}, ledger_, pool->issue(body, arguments, names, wishes), pool, {}};
}

/// A function of numba's @njit as a compiled body, where it returns nothing and its arguments are tagged arrays and
/// numbers.
std::optional<PythonHandle> PythonMachine::call_just_in_time(int target, nb::handle body, const nb::args& arguments,
                                                             const CallWords& words) {
    static const nb::handle function_type = imported("types", "FunctionType").release();
    if (body.type().is(function_type) || !nb::hasattr(body, "nopython_signatures")) return {};
    if (on_worker_processes(live()->options()) || !words.time_limit.is_none()) return {};
    if (!words.after.is_none())  // comes after its own kind only
        for (nb::handle before : words.after)
            if (nb::cast<const PythonHandle&>(before).task != nullptr) return {};
    const nb::object made = imported("penstock.just_in_time", "as_compiled")(body, nb::borrow<nb::tuple>(arguments));
    if (made.is_none()) return {};
    return call(target, made[0], nb::borrow<nb::args>(nb::object(made[1])), words);
}

PythonHandle PythonMachine::submit(nb::handle body, const nb::tuple& arguments, const nb::dict& keywords) {
    if (!is_python_body(body, nb::none())) {
        if (keywords.size() != 0) throw UsageError("compiled bodies have no arguments with names");
        const nb::object none = nb::none();
        return call(Initiator::any_target, body, nb::borrow<nb::args>(arguments),
                    {none, none, none, none, none, none, none, none});
    }
    if (keywords.size() == 0) return call_python(body, arguments, {}, {});
    const nb::object names = nb::tuple(keywords.keys());
    return call_python(body, nb::cast<nb::tuple>(arguments + nb::tuple(keywords.values())), names, {});
}

/// On a machine without targets every task runs inside its call.
TaskPointer PythonMachine::run_at_once(nb::handle body, const nb::tuple& arguments, nb::handle names) {
    auto task = std::make_shared<PythonTask>();
    task->function = std::make_shared<CarriedFunction>();
    task->function->name = nb::cast<std::string>(nb::str(nb::getattr(body, "__qualname__", nb::repr(body))));
    task->finished = true;
    nb::list given;
    std::vector<const ArrayArgument*> arrays;
    for (nb::handle argument : arguments) {
        const ArrayArgument* const array = array_argument(argument);
        arrays.push_back(array);
        given.append(array == nullptr ? nb::borrow(argument) : numpy("asarray")(array->object()));
    }
    check_overlap(task->function->name, arrays);
    const std::size_t named = names.is_valid() ? nb::len(names) : 0;
    nb::list positional;
    nb::dict keywords;
    for (std::size_t i = 0; i < given.size(); ++i) {
        if (i < given.size() - named) positional.append(given[i]);
        else keywords[names[i - (given.size() - named)]] = given[i];
    }
    try {
        task->result = body(*positional, **keywords);
        task->outcome = Outcome::value;
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_Exception)) throw;
        error.restore();
        task->result = raised_exception();
        task->outcome = Outcome::raised;
        failed_at_once_.push_back(task);
    }
    return task;
}

nb::object PythonMachine::array(nb::handle shape, nb::handle dtype) {
    const auto machine = live();
    const nb::object type = imported("penstock.elements", "element_type")(dtype);
    const nb::object sizes =
        PyLong_Check(shape.ptr()) ? nb::object(nb::make_tuple(shape)) : nb::object(nb::tuple(shape));
    std::size_t bytes = nb::cast<std::size_t>(type.attr("itemsize"));
    for (nb::handle extent : sizes) {
        const nb::object whole = imported("operator", "index")(extent);
        std::int64_t n = 0;
        if (!nb::try_cast(whole, n) || n < 0)
            throw UsageError("an array cannot have an extent of " + nb::cast<std::string>(nb::str(whole)) +
                             ": it is 0 or more, and as much as memory can hold");
        if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(n), &bytes))
            throw SystemError("an array of that shape", ENOMEM);
    }
    if (bytes >= machine->heap()->size()) throw SystemError("an array of " + std::to_string(bytes) + " bytes", ENOMEM);
    auto memory = machine->array<std::byte>(std::max<std::size_t>(bytes, 1));
    std::byte* const data = memory.data();  // before it moves
    return array_of_bytes(data, bytes, type, sizes, std::move(memory));
}

void PythonMachine::barrier() { wait_for_all(&Machine::barrier, &WorkerPool::barrier); }
void PythonMachine::finish() { wait_for_all(&Machine::finish, &WorkerPool::finish); }

/// `wait` for compiled bodies, then `collect` what Python bodies failed.
void PythonMachine::wait_for_all(void (Machine::*wait)(), std::vector<TaskPointer> (WorkerPool::*collect)()) {
    const auto machine = live();
    std::optional<TaskFailed> failure;
    try {
        without_interpreter([&] { (*machine.*wait)(); });
    } catch (const TaskFailed& first) {
        failure = first;
    }
    ledger_->sweep();
    issued_ = ledger_->size();
    std::vector<TaskPointer> failed;
    if (pool_ != nullptr) failed = (*pool_.*collect)();
    for (TaskPointer& task : std::exchange(failed_at_once_, {}))
        if (!task->delivered) failed.push_back(std::move(task));
    throw_failures(failure, failed);
}

}  // namespace penstock::python
