// Penstock's own side of every comparison, and the machine that the benchmarks run on.
#pragma once

#include <memory>

#include "peers/peer.hpp"
#include "penstock/machine.hpp"

namespace bench {

/// A machine whose targets leave the first processor to the calling thread, which benchmarks keep there. Without a
/// number of targets: one for each other processor, and at least one.
std::unique_ptr<penstock::Machine> make_machine(penstock::MachineOptions options = {});

/// The first replays of a recording try how its tasks are best dealt out.
inline constexpr int replays_until_settled = 7;

/// Waits alone: another processor executes each task. `machine` must outlive the peer.
Peer penstock_peer(penstock::Machine& machine);
/// Waits with wait(penstock::help).
Peer penstock_helping_peer(penstock::Machine& machine);

}  // namespace bench
