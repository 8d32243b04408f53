// The one check of the factor from ticks to nanoseconds.
#pragma once

namespace penstock::trace {

/// Returns the factor; throws UsageError unless it is above 0 and at most 1e9.
double checked_tick(double nanoseconds_per_tick);

}  // namespace penstock::trace
