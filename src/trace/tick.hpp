// The one check of the factor from ticks to nanoseconds.
#pragma once

#include <penstock/error.hpp>
#include <string>

namespace penstock::trace {

/// Returns the factor; throws UsageError unless it is above 0 and at most 1e9.
inline double checked_tick(double nanoseconds_per_tick) {
    if (nanoseconds_per_tick > 0 && nanoseconds_per_tick <= 1e9) return nanoseconds_per_tick;
    throw UsageError("a tick cannot last " + std::to_string(nanoseconds_per_tick) +
                     " ns; give the clock's nanoseconds per tick, above 0 and at most 1e9");
}

}  // namespace penstock::trace
