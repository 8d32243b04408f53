// machine.resident(array): values that tasks read on any target, sent to each of them once. And the task that names
// such data.
#include "python/calls/python_machine.hpp"

namespace penstock::python {
namespace {

/// A task of a compiled body with resident arguments. Each worker has its own copy of these, so their addresses are
/// known when it runs.
class ResidentCall {
  public:
    using TakesStore = void;
    using RunsInStore = void;
    using EntryByPlan = void;

    /// Begins a use of each version that is current now. Throws UsageError for data of another machine.
    ResidentCall(const Words& words, std::uint64_t machine)
        : plan_(&words.plan()), words_(words.data(), words.data() + words.count()) {
        for (const LaterArgument& later : words.later()) {
            const auto& data = static_cast<const ResidentData&>(*later.stand_in);
            try {
                places_.push_back({later.slot->words[0], nullptr});
                places_.back().version = &data.state->begin(machine);
            } catch (...) {
                places_.pop_back();
                discard();
                throw;
            }
        }
    }

    /// Once, on whichever worker takes the task.
    void run(LocalStore& store) {
        const AtEnd end{[&] { end_uses(store.worker()); }};
        for (const DataWord& place : places_)
            words_[place.word] = reinterpret_cast<std::uint64_t>(place.version->local(store.worker()));
        plan_->run(words_.data());
    }
    /// The task does not run.
    void discard() const noexcept { end_uses(0); }

  private:
    void end_uses(std::uint32_t worker) const noexcept {
        for (const DataWord& place : places_) place.version->uses.end(worker);
    }

    struct DataWord {
        std::uint16_t word;
        resident::Version* version;
    };
    const CallPlan* plan_;
    std::vector<std::uint64_t> words_;
    std::vector<DataWord> places_;
};

std::span<const std::byte> bytes_of(const ArrayArgument& array) {
    if (array.wrong() != nullptr) throw ArgumentError("machine.resident", 1, array.wrong());
    if (!array.contiguous()) throw ArgumentError("machine.resident", 1, "is not contiguous; copy it");
    return array.bytes();
}

}  // namespace

Handle issue_resident(Machine& machine, int target, const OptionsOrHandles* way, const Words& words) {
    if (comes_after_others(way))
        throw UsageError(
            "a call after others cannot have resident data; wait for the others, or give it the array itself");
    const ResidentCall call(words, machine.initiator().machine_id());
    entry_to_issue = words.plan().resident_entry(EntryByPlan<ResidentCall>::entry);
    try {
        return issue_closure(machine, target, way, boxed(call));
    } catch (...) {
        call.discard();
        throw;
    }
}

void bind_resident(nb::module_& module, nb::class_<PythonMachine>& machine) {
    note_class(
        final_class<ResidentData>(module, "Resident",
                                  "Values that stay with each target of one machine: In(resident) stands for them in\n"
                                  "calls of compiled bodies. Made by machine.resident().")
            .def(
                "update",
                [](ResidentData& self, nb::handle array) {
                    const InArgument values(array);
                    if (values.element() != self.element)
                        throw ArgumentError("Resident.update", 1,
                                            "has elements of type " + name_of(values.element()) + ", but these are " +
                                                name_of(self.element));
                    self.state->update(bytes_of(values));
                },
                nb::arg("array"), nb::sig("def update(self, array: Any) -> None"),
                "Replaces the values, as many and of the same type, for all calls issued from now on. Calls issued\n"
                "before keep theirs. Raises UsageError for another number of values.")
            .def_ro("size", &ResidentData::count, "Number of values.")
            .def_prop_ro(
                "version", [](const ResidentData& self) { return self.state->number(); },
                "How often it was updated, from 1 for the first values."));
    machine.def(
        "resident",
        [](PythonMachine& self, nb::handle array) {
            const auto live = self.live();
            require_thread_targets(*live, "machine.resident", 1,
                                   "resident data are kept by thread targets only; put them into machine.array");
            const InArgument values(array);
            return ResidentData{
                {values.element(), Takes::residents,
                 "is resident data, which plain calls of compiled bodies take, machine.call(f, In(resident)); give the "
                 "array itself here",
                 "is resident data, which tasks only read; change it with update()", values.count(), 1, values.count()},
                std::make_shared<resident::State>(*live, bytes_of(values))};
        },
        nb::arg("array"), nb::sig("def resident(self, array: Any) -> Resident"),
        "A copy of a contiguous array that each target fetches once and keeps: In(resident) stands for it in calls\n"
        "of compiled bodies, as a contiguous array of one dimension. All resident data of a machine may be as large\n"
        "as one local store. Raises UsageError for more, ArgumentError for what has no memory or is not contiguous.");
}

}  // namespace penstock::python
