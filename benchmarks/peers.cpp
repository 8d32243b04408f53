// Penstock beside its rivals: a lone task and back, a task handed to another processor and back, and many null tasks.
#include "peers/peer.hpp"

#include "harness/floors.hpp"
#include "harness/report.hpp"

namespace {

using bench::Contestant;
using bench::Peer;

using Maker = Contestant (*)(const Peer&, int);

// Rivals differ by a thousand times, so the slow ones do fewer operations a batch.
int operations_for(const Peer& peer, int fast) { return peer.name == "std-async" ? fast / 50 : fast; }

bench::Result compare(const std::vector<Peer>& peers, std::function<bool(const Peer&)> has, Maker make, int operations,
                      Contestant floor, const bench::Plan& plan) {
    std::vector<Contestant> contestants{std::move(floor)};
    for (const auto& peer : peers)
        if (has(peer)) contestants.push_back(make(peer, operations_for(peer, operations)));
    return bench::measure(contestants, plan);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "peers",
        "round trip, hand-off and throughput of null tasks beside oneTBB, OpenMP, std::async and Taskflow",
        {"peers/throughput-over-onetbb", "peers/throughput-over-openmp-depend", "peers/handoff-over-onetbb"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    auto& floors = bench::nearest_floors();
    const auto peers = bench::all_peers();

    report.rows("round trip: ", compare(peers, [](const Peer& p) { return bool(p.round_trip); }, bench::round_trip_of,
                                        1000, floors.one_line(), options.plan));
    report.rows("hand-off: ", compare(peers, [](const Peer& p) { return bool(p.hand_off); }, bench::hand_off_of, 1000,
                                      floors.one_line(), options.plan));
    report.rows("throughput: ", compare(peers, [](const Peer& p) { return bool(p.many); }, bench::throughput_of, 5000,
                                        floors.ring(), options.plan));
    return report.finish();
}
