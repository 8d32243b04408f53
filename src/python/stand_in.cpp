#include "stand_in.hpp"

#include "chain.hpp"
#include "resident_call.hpp"

namespace penstock::python {

const StandIn* stand_in_of(nb::handle object) noexcept {
    if (const StandIn* const found = resident_of(object)) return found;
    return chain_array_of(object);
}

}  // namespace penstock::python
