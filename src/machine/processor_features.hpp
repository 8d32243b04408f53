// What the processor says of itself through its identification instruction.
#pragma once

#include "penstock/topology.hpp"

namespace penstock::features {

ProcessorFeatures of_this_processor() noexcept;

/// Whether the processor's counter runs at one rate through all power states, and the kernel trusts it.
bool counter_is_invariant() noexcept;

/// What the processor or the hypervisor says of the counter's rate in ticks a second; 0 when they say nothing.
double counter_rate_hint() noexcept;

}  // namespace penstock::features
