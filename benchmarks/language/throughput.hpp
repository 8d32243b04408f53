// Each application of the gallery that is a graph, from XML, compiled XML and C++, over the same memory.
#pragma once

#include "harness/report.hpp"

namespace bench {

/// A row for each application, and the goals language/throughput and language/compiled: the worst of them. Every result
/// is compared with that of one thread.
void measure_throughput(const Options& options, Report& report);

}  // namespace bench
