#include "peers/ours.hpp"

#include <algorithm>

#include "harness/processors.hpp"
#include "penstock/topology.hpp"

namespace bench {

std::unique_ptr<penstock::Machine> make_machine(penstock::MachineOptions options) {
    const auto& processors = allowed_processors();
    if (options.targets == penstock::MachineOptions::one_per_processor)
        options.targets = std::max(1, static_cast<int>(processors.size()) - 1);
    // A machine leaves the processor free on which its maker runs, so its maker stays there until it is made.
    penstock::Topology::here();  // seen while this thread may still use every processor
    const Pinned stay{processors.front()};
    return std::make_unique<penstock::Machine>(options);
}

namespace {

void on_the_first_processor(const std::function<void()>& batch) {
    const Pinned pinned{allowed_processors().front()};
    batch();
}

}  // namespace

Peer penstock_peer(penstock::Machine& machine) {
    Peer peer{"penstock"};
    peer.inside = on_the_first_processor;
    peer.round_trip = [&machine] { machine.call<null_task>().wait(); };
    peer.hand_off = peer.round_trip;
    peer.many = [&machine](int tasks) {
        for (int i = 0; i < tasks; ++i) machine.call<null_task>();
        machine.barrier();
    };
    return peer;
}

Peer penstock_helping_peer(penstock::Machine& machine) {
    Peer peer{"penstock-help"};
    peer.inside = on_the_first_processor;
    peer.round_trip = [&machine] { machine.call<null_task>().wait(penstock::help); };
    return peer;
}

}  // namespace bench
