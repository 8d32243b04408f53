// The counters of a process's threads, as they travel to the program.
#pragma once

#include "nodes/messages.hpp"

namespace penstock {
class Machine;
}

namespace penstock::nodes {

/// Of an agent. Null: it has no machine yet, and so no threads that count. Any thread.
CountersPart counters_of(const Machine* machine, std::uint64_t question);
/// The same in the program. Throws Error for what no machine counts.
trace::Snapshot snapshot_of(const CountersPart& part);

}  // namespace penstock::nodes
