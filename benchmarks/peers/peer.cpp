#include "peers/peer.hpp"

namespace bench {

void null_task() {}

std::vector<Peer> all_peers() {
    std::vector<Peer> peers;
#if defined(PENSTOCK_BENCH_TBB)
    peers.push_back(onetbb_peer());
    peers.push_back(onetbb_parallel_for_peer());
#endif
#if defined(_OPENMP)
    peers.push_back(openmp_peer());
    peers.push_back(openmp_depend_peer());
#endif
#if defined(PENSTOCK_BENCH_TASKFLOW)
    peers.push_back(taskflow_peer());
    peers.push_back(taskflow_static_peer());
#endif
    peers.push_back(async_peer());
    return peers;
}

namespace {

Contestant entered(Contestant inner, const Peer& peer) {
    auto batch = [inside = peer.inside, work = std::move(inner.batch)] {
        double time = 0;
        inside([&] { time = work(); });
        return time;
    };
    auto singles = [inside = peer.inside, work = std::move(inner.singles)](std::vector<double>& times) {
        inside([&] { work(times); });
    };
    return {std::move(inner.name), std::move(batch), std::move(singles)};
}

}  // namespace

Contestant round_trip_of(const Peer& peer, int operations) {
    return entered(repeated(peer.name, operations, peer.round_trip), peer);
}

Contestant hand_off_of(const Peer& peer, int operations) {
    return entered(repeated(peer.name, operations, peer.hand_off), peer);
}

Contestant throughput_of(const Peer& peer, int tasks) {
    return {peer.name, [peer, tasks] {
                double time = 0;
                peer.inside([&] {
                    peer.many(tasks);
                    const auto start = Clock::now();
                    peer.many(tasks);
                    time = nanoseconds_since(start) / tasks;
                });
                return time;
            }};
}

}  // namespace bench
