// The stages of a null task there and back: the clock is read by the issuer and by the target as each stage ends.
#pragma once

#include "harness/report.hpp"
#include "penstock/machine.hpp"

namespace bench {

/// A row for 0 to 8 arguments: the stages, their sum, and that sum over the same trip without stamps.
void measure_stages(Report& report, const Options& options, penstock::Machine& one_target);

}  // namespace bench
