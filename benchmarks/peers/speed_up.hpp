// An application of filters over 1..N processors against one thread and against oneTBB: what a processor more brings.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/report.hpp"
#include "penstock/machine.hpp"

namespace bench {

/// Each function does the same work once, checks what came out, and returns the nanoseconds of the work alone.
struct Filters {
    std::string unit;                ///< "tiles"
    double units = 0;                ///< of one call
    std::function<double()> serial;  ///< the program without streams, on one thread
    /// So many processors: the targets of the machine and the caller, who helps. That is also the number of copies of
    /// each filter that may be copied; FilterOptions::automatic: as many as the runtime chooses.
    std::function<double(penstock::Machine& machine, int processors)> streamed;
    std::function<double()> onetbb = {};  ///< on all processors; empty where it is not installed
    /// Two of the serial program that have nothing to do with one another, on two processors: half the nanoseconds of
    /// both, which nobody's two processors can beat by much. Empty: not shown.
    std::function<double()> two_at_once = {};
};

struct SpeedUp {
    Ratio on_two;                           ///< over one thread
    std::optional<Ratio> over_onetbb = {};  ///< on all processors, where oneTBB is installed
};

/// Rows for 1, 2, 4... and all processors, interleaved with the serial program, `prefix` before their names.
SpeedUp measure_speed_up(const Filters& filters, const std::string& prefix, const Options& options, Report& report);

/// The goal NAME/automatic: on all processors, the rate with as many copies as the runtime chooses, over the best of
/// 1, 2 ... and two more than there are processors.
void judge_automatic(const std::string& name, const Filters& filters, const Options& options, Report& report);

/// The goals NAME/speedup-2, at least `wanted`, and NAME/over-onetbb, not to be slower.
void judge_speed_up(const std::string& name, const SpeedUp& measured, double wanted, Report& report);

}  // namespace bench
