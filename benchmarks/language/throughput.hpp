// Each application of the gallery that is a graph, from XML and from C++, over the same memory.
#pragma once

#include "harness/report.hpp"

namespace bench {

/// A row for each application, and the goal language/throughput: the worst of them. Every result is compared with that of one thread.
void measure_throughput(const Options& options, Report& report);

}  // namespace bench
