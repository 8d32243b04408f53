// machine.resident(array): values that tasks read on any target, sent to each of them once. And the task that names
// such data.
#include <nanobind/stl/string.h>

#include <utility>

#include "penstock/error.hpp"
#include "penstock/isolation.hpp"
#include "python/calls/array_argument.hpp"
#include "python/calls/python_machine.hpp"
#include "python/calls/resident_call.hpp"

template <>
struct penstock::procedure::ParametersOf<penstock::python::ResidentCall> {
    using List = Parameters<>;
    using Result = void;
};

/// Each plan has an entry of its own for calls with resident data too, so that they have the body's name.
template <>
struct penstock::procedure::Registered<
    penstock::procedure::Call<penstock::python::ResidentCall, penstock::procedure::Parameters<>>,
    penstock::procedure::ClosureName<penstock::python::ResidentCall>>
    : penstock::python::EntryByPlan<penstock::python::ResidentCall> {};

namespace penstock::python {
namespace {

PyTypeObject* resident_type = nullptr;  // borrowed from the module

std::span<const std::byte> bytes_of(const ArrayArgument& array) {
    if (array.wrong() != nullptr) throw ArgumentError("machine.resident", 1, array.wrong());
    if (!array.contiguous()) throw ArgumentError("machine.resident", 1, "is not contiguous; copy it");
    return {reinterpret_cast<const std::byte*>(array.base()), array.count() * array.item_bytes()};
}

}  // namespace

ResidentCall::ResidentCall(const Words& words, std::uint64_t machine)
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

void ResidentCall::run(LocalStore& store) {
    struct End {
        const std::vector<DataWord>& places;
        std::uint32_t worker;
        ~End() {
            for (const DataWord& place : places) place.version->uses.end(worker);
        }
    } const end{places_, store.worker()};
    for (const DataWord& place : places_)
        words_[place.word] = reinterpret_cast<std::uint64_t>(place.version->local(store.worker()));
    plan_->run(words_.data());
}

void ResidentCall::discard() const noexcept {
    for (const DataWord& place : places_) place.version->uses.end(0);
}

Handle issue_resident(Machine& machine, int target, const OptionsOrHandles* way, const Words& words) {
    if (way != nullptr && std::holds_alternative<std::vector<Handle>>(*way))
        throw UsageError(
            "a call after others cannot have resident data; wait for the others, or give it the array itself");
    const ResidentCall call(words, machine.initiator().machine_id());
    entry_to_issue = words.plan().resident_entry(EntryByPlan<ResidentCall>::entry);
    try {
        return way != nullptr ? machine.initiator().call_on(std::get<CallOptions>(*way), boxed(call))
                              : machine.initiator().call_on(target, boxed(call));
    } catch (...) {
        call.discard();
        throw;
    }
}

void bind_resident(nb::module_& module, nb::class_<PythonMachine>& machine) {
    const auto type =
        nb::class_<ResidentData>(module, "Resident", nb::is_final(),
                                 "Values that stay with each target of one machine: In(resident) stands for them in\n"
                                 "calls of compiled bodies. Made by machine.resident().")
            .def(
                "update",
                [](ResidentData& self, nb::handle array) {
                    const InArgument values(array);
                    if (values.element() != self.element)
                        throw ArgumentError("Resident.update", 1,
                                            "has elements of type " + std::string(name_of(values.element())) +
                                                ", but these are " + std::string(name_of(self.element)));
                    self.state->update(bytes_of(values));
                },
                nb::arg("array"), nb::sig("def update(self, array: Any) -> None"),
                "Replaces the values, as many and of the same type, for all calls issued from now on. Calls issued\n"
                "before keep theirs. Raises UsageError for another number of values.")
            .def_prop_ro(
                "size", [](const ResidentData& self) { return self.count; }, "Number of values.")
            .def_prop_ro(
                "version", [](const ResidentData& self) { return self.state->number(); },
                "How often it was updated, from 1 for the first values.");
    resident_type = reinterpret_cast<PyTypeObject*>(type.ptr());
    machine.def(
        "resident",
        [](PythonMachine& self, nb::handle array) {
            const auto live = self.live();
            require_thread_targets(*live, "machine.resident", 1,
                                   "resident data are kept by thread targets only; put them into machine.array");
            const InArgument values(array);
            ResidentData data;
            data.element = values.element();
            data.taken_by = Takes::residents;
            data.no_memory =
                "is resident data, which plain calls of compiled bodies take, machine.call(f, In(resident)); give the "
                "array itself here";
            data.only_read = "is resident data, which tasks only read; change it with update()";
            data.count = data.columns = values.count();
            data.rows = 1;
            data.state = std::make_shared<resident::State>(*live, bytes_of(values));
            return data;
        },
        nb::arg("array"), nb::sig("def resident(self, array: Any) -> Resident"),
        "A copy of a contiguous array that each target fetches once and keeps: In(resident) stands for it in calls\n"
        "of compiled bodies, as a contiguous array of one dimension. All resident data of a machine may be as large\n"
        "as one local store. Raises UsageError for more, ArgumentError for what has no memory or is not contiguous.");
}

const StandIn* resident_of(nb::handle object) noexcept {
    return Py_TYPE(object.ptr()) == resident_type ? nb::inst_ptr<ResidentData>(object) : nullptr;
}

}  // namespace penstock::python
