// Compiled bodies in worker processes: named by library file and symbol, found again where the task runs.
//
// A worker has the program's code as it was at launch(), and no object of Python. So what a task needs of its body lies
// in the machine's heap, and the task's words follow in its descriptor. Arrays outside the heap are copied by the task
// layer (carrier.hpp).
#pragma once

#include "python/calls/foreign_call.hpp"
#include "python/words.hpp"

namespace penstock::python {

/// In the machine's heap.
struct CarriedBody {
    std::array<char, 1024> library{};
    std::array<char, 512> symbol{};
    WordCounts counts;
};

struct CarriedCall {
    using EntryByPlan = void;
    static constexpr std::size_t capacity = 23;
    const CarriedBody* body;
    std::uint64_t words[capacity];  ///< the first one: the plan, which only the program has

    /// In the worker. Throws EntryNotFound.
    void operator()() const;
    /// In the program: copies what workers cannot reach.
    void carry(isolated::Carrier& carrier);
};
static_assert(sizeof(CarriedCall) == sizeof(Extension));

/// The bodies that a machine's workers were told of.
class CarriedBodies {
  public:
    /// Throws CannotCarryOver for a function that is no exported symbol of a library, and for arguments that cannot be
    /// carried over.
    const CarriedBody& find(Machine& machine, const Words& words);

  private:
    std::map<std::pair<const CallPlan*, std::uint64_t>, SharedArray<CarriedBody>> bodies_;
};

/// Issues the call to a machine of worker processes, by its plain or longer ways. Throws CannotCarryOver for what these
/// do not have.
Handle issue_carried(Machine& machine, int target, const OptionsOrHandles* way, const CarriedBody& body,
                     const Words& words);

}  // namespace penstock::python
