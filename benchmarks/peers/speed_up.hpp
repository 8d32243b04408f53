// An application of filters over 1..N processors against one thread and against oneTBB: what a processor more brings.
#pragma once

#include <functional>
#include <string>

#include "harness/report.hpp"
#include "penstock/machine.hpp"

namespace bench {

/// Each function does the same work once, checks what came out, and returns the nanoseconds of the work alone.
struct Filters {
    std::string unit;                ///< "tiles"
    double units = 0;                ///< of one call
    std::function<double()> serial;  ///< the program without streams, on one thread
    /// So many processors: the targets of the machine and the caller, who helps.
    std::function<double(penstock::Machine& machine, int processors)> streamed;
    std::function<double()> onetbb = {};  ///< on all processors; empty where it is not installed
};

/// Rows for 1, 2, 4... and all processors, interleaved with the serial program, `prefix` before their names. Gives the speed-up on two.
Interval measure_speed_up(const Filters& filters, const std::string& prefix, const Options& options, Report& report);

}  // namespace bench
