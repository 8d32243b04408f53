// What a part of a run has done, as it travels to the program, and all parts together.
#pragma once

#include <map>

#include "nodes/messages.hpp"
#include "stream/run/run_state.hpp"

namespace penstock::nodes {

/// Of this process's part. The endpoint's thread.
Figures figures_of(streaming::RunState& state);
/// Adds those of other nodes: rates and shares are those of all copies.
void add(RunStatistics& all, const std::map<wire::Site, Figures>& parts);

}  // namespace penstock::nodes
