// The part of ./bench jobs about staging: what copies into the local store and back cost.
#pragma once

#include "harness/report.hpp"
#include "penstock/machine.hpp"

namespace jobs {

/// Jobs whose arguments are staged beside the same jobs that make the copies themselves, one after the other and
/// nothing ahead, which is how they were staged once; and beside jobs that work in place.
void compare_staging(bench::Report& report, const bench::Options& options, penstock::Machine& machine);

}  // namespace jobs
