// How long it takes from a file to a running graph, for chains of 10 to 100,000 components.
#pragma once

#include "harness/report.hpp"

namespace bench {

/// A row for each size, with its phases, and the goals language/load-1000 and language/load-exponent.
void measure_loading(const Options& options, Report& report);

}  // namespace bench
