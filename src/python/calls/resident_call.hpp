// A task of a compiled body with resident arguments. Each worker has its own copy of these, so their addresses are
// known when it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "python/calls/foreign_call.hpp"
#include "python/words.hpp"

namespace penstock::python {

class ResidentCall {
  public:
    using TakesStore = void;

    /// Begins a use of each version that is current now. Throws UsageError for data of another machine.
    ResidentCall(const Words& words, std::uint64_t machine);

    /// Once, on whichever worker takes the task.
    void run(LocalStore& store);
    /// The task does not run.
    void discard() const noexcept;

  private:
    struct DataWord {
        std::uint16_t word;
        resident::Version* version;
    };
    const CallPlan* plan_;
    std::vector<std::uint64_t> words_;
    std::vector<DataWord> places_;
};

/// Issues a call with resident arguments, by a machine's plain or longer ways. Throws UsageError for calls after
/// others.
Handle issue_resident(Machine& machine, int target, const OptionsOrHandles* way, const Words& words);

/// The resident data behind an object, or null.
const StandIn* resident_of(nb::handle object) noexcept;

}  // namespace penstock::python
