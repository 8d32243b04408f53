#include "trace/tick.hpp"

#include <penstock/error.hpp>
#include <string>

namespace penstock::trace {

double checked_tick(double nanoseconds_per_tick) {
    if (nanoseconds_per_tick > 0 && nanoseconds_per_tick <= 1e9) return nanoseconds_per_tick;
    throw UsageError("a tick cannot last " + std::to_string(nanoseconds_per_tick) +
                     " ns; give the clock's nanoseconds per tick, above 0 and at most 1e9");
}

}  // namespace penstock::trace
