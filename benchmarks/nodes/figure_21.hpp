// Figure 21 of the paper on DataCutter-Lite.
#pragma once

#include "harness/report.hpp"

namespace bench {

/// TIFF tiles of a tissue that are decoded on 1, 2 and 4 nodes of a quarter of a processor each, and analysed by the
/// program.
void figure_21(Report& report, const Options& options);

}  // namespace bench
