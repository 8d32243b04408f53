// Where the workers of a machine run, so that threads by hand can run in the same places.
#pragma once

#include <vector>

namespace penstock {
class Machine;
}

namespace penstock::apps {

/// The processors of a machine's workers: first one for the caller that no target has, then that of each target. All
/// Team::anywhere where there are fewer usable processors than workers. Runs a task on each target to ask it.
std::vector<int> processors_of(Machine& machine);

}  // namespace penstock::apps
