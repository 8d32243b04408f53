// Timelines of several processes in one file.
#pragma once

#include <penstock/trace.hpp>
#include <span>
#include <string>
#include <vector>

namespace penstock::trace {

/// What one process recorded.
struct TimelineProcess {
    std::string name;
    std::string label;  ///< beside the name; empty: none
    std::vector<TimelineTrack> tracks;
    NameOf name_of;
};

/// perfetto_json() of them all, whose ticks are of one clock: a group of tracks for each.
std::string perfetto_json(std::span<const TimelineProcess> processes, double nanoseconds_per_tick);

}  // namespace penstock::trace
