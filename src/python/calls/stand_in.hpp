// What a tag may hold in the place of memory: resident data, and the parameters and local blocks of a chain.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "penstock/detail/task/chain_argument.hpp"
#include "penstock/detail/task/resident_argument.hpp"
#include "python/calls/element.hpp"

namespace penstock::python {

namespace nb = nanobind;

/// What may stand in the place of memory and numbers: nothing in most calls, resident data in plain ones, a chain's own
/// in its steps.
enum class Takes : std::uint8_t { memory, residents, chains };

/// What all of them have in common.
struct StandIn {
    Element element;
    Takes taken_by;                   ///< which calls know what it stands for
    const char* no_memory;            ///< what all others are told
    const char* only_read = nullptr;  ///< what Out and InOut are told
    std::size_t count = 0;            ///< elements, 0 where the issue gives them
    std::size_t rows = 0;             ///< the same as rows and columns
    std::size_t columns = 0;
    chain::Place place{};  ///< of a chain's own
};

/// Values that each target fetches once: machine.resident(array).
struct ResidentData : StandIn {
    std::shared_ptr<resident::State> state;
};

/// An array parameter or a local block of a chain.
struct ChainArray : StandIn {};
/// A scalar parameter of a chain. Its place has the number of the parameter.
struct ChainScalar : StandIn {};

/// What stands behind this object, or null when it is memory or anything else. The object keeps it alive.
const StandIn* stand_in_of(nb::handle object) noexcept;
const StandIn* scalar_stand_in_of(nb::handle object) noexcept;

}  // namespace penstock::python
