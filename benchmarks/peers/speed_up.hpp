// An application of filters over 1..N processors against one thread, oneTBB and OpenMP: what a processor more brings.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/report.hpp"
#include "peers/pipeline.hpp"
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
    std::function<double(Rival)> rival = {};  ///< on all processors; empty: not compared
    /// Two of the serial program that have nothing to do with one another, on two processors: half the nanoseconds of
    /// both, which nobody's two processors can beat by much. Empty: not shown.
    std::function<double()> two_at_once = {};
};

struct SpeedUp {
    Ratio on_two;                         ///< over one thread
    std::optional<Ratio> over_best = {};  ///< the best rival's time over ours, on all processors; none was found: empty

    /// The comparisons of another case, for goals that must hold for both.
    void add(const SpeedUp& other);
};

/// Rows for 1, 2, 4... and all processors, interleaved with the serial program, `prefix` before their names.
SpeedUp measure_speed_up(const Filters& filters, const std::string& prefix, const Options& options, Report& report);

/// The goal NAME/automatic: on all processors, the rate with as many copies as the runtime chooses, over the best of
/// 1, 2 ... and two more than there are processors.
void judge_automatic(const std::string& name, const Filters& filters, const Options& options, Report& report);

/// The goals NAME/speedup-2, at least `wanted`, and NAME/over-best, not to be slower than the best rival.
void judge_speed_up(const std::string& name, const SpeedUp& measured, double wanted, Report& report);

/// The goal NAME, over the best rival: at least `wanted`.
void judge_over_best(const std::string& name, const SpeedUp& measured, double wanted, Report& report);

}  // namespace bench
