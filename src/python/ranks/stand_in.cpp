#include "python/ranks/stand_in.hpp"

#include "python/calls/chain.hpp"
#include "python/calls/resident_call.hpp"

namespace penstock::python {

const StandIn* stand_in_of(nb::handle object) noexcept {
    if (const StandIn* const found = resident_of(object)) return found;
    return chain_array_of(object);
}

}  // namespace penstock::python
