#include "python/calls/carried_call.hpp"

#include <dlfcn.h>

#include <climits>
#include <cstdlib>

#include "penstock/isolation.hpp"
#include "penstock/plugin.hpp"

namespace penstock::python {
namespace {

/// Workers know the procedures that the program had at launch(). So that tasks have the names of their bodies all the
/// same, there are entries in entry_store, which the program names as bodies come up; workers run them by their
/// numbers. The last one serves all further bodies.
struct Store {
    static constexpr std::size_t size = 256;
    std::array<Entry, size> entries;
    std::array<std::uint32_t, size> numbers{};
    std::map<std::string, std::size_t, std::less<>> taken;

    Store() {
        for (std::size_t i = 0; i < size; ++i) {
            entries[i] = EntryByPlan<CarriedCall>::entry;
            numbers[i] = register_entry(entries[i]);
        }
    }
    /// `name` lives for ever. With the interpreter's lock.
    std::uint32_t number_of(const std::string& name) {
        const auto found = taken.find(name);
        if (found != taken.end()) return numbers[found->second];
        const std::size_t next = std::min(taken.size(), size - 1);
        if (next < size - 1) {
            entries[next].name = name;
            taken.emplace(name, next);
        }
        return numbers[next];
    }
};
Store entry_store;  // registered while the module is loaded, so before launch()

}  // namespace

void CarriedCall::operator()() const {
    void* const function = plugins::find(body->library.data(), body->symbol.data());
    call_c(reinterpret_cast<std::uint64_t>(function), words + 1, body->counts);
}

void CarriedCall::carry(isolated::Carrier& carrier) {
    const auto& plan = *reinterpret_cast<const CallPlan*>(words[0]);
    for (const Slot& slot : plan.slots()) {
        if (!slot.is_array()) continue;
        const ArgumentBlock block = slot.memory(words);
        auto* const base = const_cast<std::byte*>(block.base);
        std::byte* const there = carrier.bring_rows(slot.access, base, block.rows, block.row_bytes, block.pitch);
        if (slot.form == Slot::Form::strided && there != base) words[slot.words[3]] = words[slot.words[2]];
        words[slot.words[0]] = reinterpret_cast<std::uint64_t>(there);
    }
}

const CarriedBody& CarriedBodies::find(Machine& machine, const Words& words) {
    const CallPlan& plan = words.plan();
    const std::uint64_t address = words.data()[0];
    if (const auto found = bodies_.find({&plan, address}); found != bodies_.end()) return found->second[0];
    if (words.count() > CarriedCall::capacity)
        throw CannotCarryOver(plan.name(), 0,
                              "it has " + std::to_string(words.count() - 1) + " words of arguments, and " +
                                  std::to_string(CarriedCall::capacity - 1) +
                                  " fit a descriptor; give it an array of some");
    for (std::size_t i = 0; i < plan.slots().size(); ++i)
        if (plan.slots()[i].is_array() && plan.slots()[i].element.bytes == 0)
            throw CannotCarryOver(plan.name(), static_cast<int>(i) + 1,
                                  "the body takes void*, so nobody knows how much to copy; declare its elements");
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_fname == nullptr)
        throw CannotCarryOver(
            plan.name(), 0,
            "this function was made at run time (numba, a ctypes callback), so that no library file has it; compile "
            "it into a library, or call a Python function, which runs in a process of its own anyway");
    if (info.dli_sname == nullptr || info.dli_saddr != reinterpret_cast<const void*>(address))
        throw CannotCarryOver(plan.name(), 0,
                              "the library " + std::string(info.dli_fname) +
                                  " does not export it under a name; export it (extern \"C\", not static)");
    SharedArray<CarriedBody> body = machine.array<CarriedBody>(1);
    body[0] = CarriedBody{};
    body[0].counts = plan.counts();
    char path[PATH_MAX];
    const char* const library = realpath(info.dli_fname, path) != nullptr ? path : info.dli_fname;
    plugins::copy_name(library, body[0].library.data(), body[0].library.size());
    plugins::copy_name(info.dli_sname, body[0].symbol.data(), body[0].symbol.size());
    return bodies_.emplace(std::pair{&plan, address}, std::move(body)).first->second[0];
}

Handle issue_carried(Machine& machine, int target, const OptionsOrHandles* way, const CarriedBody& body,
                     const Words& words) {
    if (comes_after_others(way))
        throw CannotCarryOver(words.plan().name(), 0,
                              "calls after others are kept by thread targets only; wait for the others");
    CarriedCall call{&body, {}};
    std::copy_n(words.data(), words.count(), call.words);
    call.words[0] = reinterpret_cast<std::uint64_t>(&words.plan());
    entry_to_issue = entry_store.number_of(words.plan().name());
    return issue_closure(machine, target, way, std::move(call));
}

}  // namespace penstock::python
