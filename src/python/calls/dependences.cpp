#include "python/calls/dependences.hpp"

namespace penstock::python {
namespace {

/// A number that no other thread of this process ever has.
std::uint64_t this_thread_number() noexcept {
    static std::atomic<std::uint64_t> threads{0};
    thread_local const std::uint64_t number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
    return number;
}

PythonMachine& machine_of(const nb::object& machine) { return nb::cast<PythonMachine&>(machine); }

}  // namespace

PythonDependences::PythonDependences(nb::object machine) : machine_(std::move(machine)), thread_(this_thread_number()) {
    const auto live = machine_of(machine_).live();
    if (live->in_task()) throw UsageError("a Dependences cannot be made inside a task from Python; make it outside");
    require_thread_targets(*live, "Dependences", 0,
                           "dependences are kept by thread targets only; wait for the tasks that one comes after");
    order_ = std::make_unique<Dependences>(*live);
    machine_of(machine_).add_order(*this);
}

PythonDependences::~PythonDependences() {
    machine_of(machine_).remove_order(*this);
    end();
}

void PythonDependences::end() noexcept {
    // In another thread, or after its own has ended, the records are left as they are.
    if (order_ != nullptr && thread_ != this_thread_number()) static_cast<void>(order_.release());
    order_ = nullptr;
}

Dependences& PythonDependences::use() const {
    static_cast<void>(machine_of(machine_).live());
    if (thread_ != this_thread_number())
        throw UsageError("a Dependences is used by the thread that made it; make one for each");
    return *order_;
}

PythonHandle PythonDependences::call(nb::handle body, const nb::args& arguments, nb::handle signature,
                                     nb::handle target) {
    auto& machine = machine_of(machine_);
    Dependences& order = use();
    const auto live = machine.live();
    if (machine.is_python_body(body, signature))
        throw UsageError("the order of tags is kept for compiled bodies; give Python bodies after=[handles]");
    const int number = target.is_none() ? Initiator::any_target : nb::cast<int>(target);
    if (number != Initiator::any_target) live->on(number);  // refuses a target that there is not
    nb::object held = body_of(body, signature);
    const Words words(*nb::inst_ptr<Body>(held), arguments);
    std::vector<ArgumentBlock> blocks;
    for (nb::handle argument : arguments)
        if (const ArrayArgument* const array = array_argument(argument)) blocks.push_back(array->block());
    std::vector<std::uint32_t> addresses;  // where these lie in the closure
    for (const Slot& slot : words.plan().slots())
        if (slot.is_array())
            addresses.push_back(
                static_cast<std::uint32_t>(sizeof(const CallPlan*) + slot.words[0] * sizeof(std::uint64_t)));
    const Handle handle = machine.without_lock_if_it_may_block(*live, [&] {
        return issue_foreign(words.plan(), words.data(), [&](auto&& closure) {
            return order.call_blocks_on(number, blocks, addresses, std::move(closure));
        });
    });
    if (recording_) {
        recorded_.push_back(held);
        recorded_.push_back(nb::borrow(arguments));
    }
    return machine.keep(handle, std::move(held), nb::borrow(arguments));
}

void PythonDependences::wait() {
    Dependences& order = use();
    const auto live = machine_of(machine_).live();
    without_interpreter([&] { order.wait(); });
}

PythonRecording PythonDependences::record(nb::handle body) {
    Dependences& order = use();
    const auto live = machine_of(machine_).live();
    if (recording_) throw UsageError("this Dependences is recording already; a recording cannot hold another");
    if (PyCallable_Check(body.ptr()) == 0)
        throw UsageError("record() takes a function without arguments that issues the calls");
    recording_ = true;
    const AtEnd end{[&] {
        recording_ = false;
        recorded_.clear();
    }};
    auto made = without_interpreter([&] {
        return order.record([&] {
            const nb::gil_scoped_acquire acquire;
            body();
        });
    });
    return {machine_, std::move(made), std::move(recorded_)};
}

void PythonRecording::replay() {
    const auto live = machine_of(machine_).live();
    ++running_;
    const AtEnd end{[&] { --running_; }};
    without_interpreter([&] { recording_.replay(); });
}

std::size_t PythonRecording::rebind(nb::handle from, nb::handle to) {
    const auto live = machine_of(machine_).live();
    if (running_ != 0)
        throw UsageError("a recording cannot be bound to other memory while it is replayed; wait for the replay");
    const InArgument old_memory(from);
    const nb::object tag = nb::type<InOutArgument>()(nb::borrow(to));
    const ArrayArgument& new_memory = *array_argument(tag);
    const auto bytes_of = [](const ArrayArgument& array, int number) {
        if (array.wrong() != nullptr) throw ArgumentError("Recording.rebind", number, array.wrong());
        if (!array.contiguous()) throw ArgumentError("Recording.rebind", number, "is not contiguous");
        return array.bytes();
    };
    const auto from_bytes = bytes_of(old_memory, 1), to_bytes = bytes_of(new_memory, 2);
    if (old_memory.element() != new_memory.element())
        throw ArgumentError("Recording.rebind", 2,
                            "has elements of type " + name_of(new_memory.element()) + ", but the first has " +
                                name_of(old_memory.element()));
    const std::size_t moved = recording_.rebind<std::byte>(from_bytes, to_bytes);
    held_.push_back(tag);
    return moved;
}

void bind_dependences(nb::module_& module) {
    final_class<PythonRecording>(module, "Recording", "Calls that Dependences.record kept, to be run again.")
        .def("replay", &PythonRecording::replay,
             "Runs all of them in their order, on all targets and this thread, and returns when they have completed.\n"
             "Calls that come after a failed one do not run. Raises TaskFailed for the first failure (it can be\n"
             "replayed again), UsageError inside a task, MachineGone.")
        .def("rebind", &PythonRecording::rebind, nb::arg("from_array"), nb::arg("to_array"),
             nb::sig("def rebind(self, from_array: Any, to_array: Any) -> int"),
             "From now on each argument that lay in the one contiguous array lies at the same place of the other, as\n"
             "large and of the same type. Returns how many arguments moved. Raises UsageError for another size and\n"
             "during a replay.")
        .def_prop_ro("tasks", &PythonRecording::tasks, "How many calls one replay runs.")
        .def_prop_ro("crossings", &PythonRecording::crossings, "How many of them wait for a call of another worker.");
    final_class<PythonDependences>(
        module, "Dependences",
        "Calls of compiled bodies whose order follows from their tags, as if they ran one after the other:\n\n"
        "    order = penstock.Dependences(machine)\n"
        "    order.call(factor, penstock.InOut(a))\n"
        "    order.call(solve, penstock.In(a), penstock.InOut(b))   # waits for factor\n"
        "    order.call(solve, penstock.In(a), penstock.InOut(c))   # waits for factor, and runs beside the other\n"
        "    order.wait()\n\n"
        "Only calls by the same object are ordered. It belongs to the thread that made it.")
        .def(nb::init<nb::object>(), nb::arg("machine"), nb::sig("def __init__(self, machine: Machine) -> None"),
             "Raises MachineGone, UsageError inside a task, CannotCarryOver for a machine of worker processes.")
        .def("call", &PythonDependences::call, nb::arg("body").none(), nb::arg("arguments"), nb::kw_only(),
             or_none("signature"), or_none("target"),
             nb::sig("def call(self, body: Any, *arguments: Any, signature: str | None = None, target: int | None = "
                     "None) -> Handle[Any]"),
             "As machine.call of a compiled body, after the calls before it that write what it touches, and those\n"
             "that read what it writes. Never waits for them. `target`: the only one that may run it. Where one that\n"
             "it comes after fails, it does not run (PredecessorFailed). Raises what machine.call raises, and\n"
             "UsageError in another thread.")
        .def("wait", &PythonDependences::wait,
             "Waits for all calls of this object, running ready ones meanwhile. Raises TaskFailed for the first "
             "failure.")
        .def("record", &PythonDependences::record, nb::arg("function"),
             nb::sig("def record(self, function: Callable[[], Any]) -> Recording"),
             "Waits for all calls so far, calls `function`, which issues calls by this object, waits for these too,\n"
             "and returns them as a recording. Raises what `function` and wait() raise, and UsageError for a call\n"
             "with more than 22 words of arguments.")
        .def_prop_ro("blocks", used<PythonDependences, &Dependences::blocks>(),
                     "How many different blocks of memory it knows.");
}

}  // namespace penstock::python
