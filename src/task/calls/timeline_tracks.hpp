// What a machine's threads have recorded, before it becomes text.
#pragma once

#include <penstock/trace.hpp>
#include <vector>

namespace penstock {

class Core;

/// A track for each thread. What its events' ids stand for, Core::timeline_name() says.
std::vector<trace::TimelineTrack> timeline_tracks(const Core& core);

}  // namespace penstock
