// Penstock beside its rivals: a lone task and back, a task handed to another processor and back, and many null tasks.
#include <algorithm>

#include "harness/floors.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"

namespace {

using bench::Contestant;
using bench::Direction;
using bench::Peer;

using Maker = Contestant (*)(const Peer&, int);

// Rivals differ by a thousand times, so the slowest does fewer operations a batch.
int operations_for(const Peer& peer, int fast) { return peer.name == "std-async" ? fast / 50 : fast; }

template <class Member>
bench::Result compare(const std::vector<Peer>& peers, Member member, Maker make, int operations, Contestant floor,
                      const bench::Plan& plan) {
    std::vector<Contestant> contestants{std::move(floor)};
    for (const auto& peer : peers)
        if (peer.*member) contestants.push_back(make(peer, operations_for(peer, operations)));
    return bench::measure(contestants, plan);
}

void judge(bench::Report& report, const std::string& goal, const bench::Result& result, const std::string& rival,
           double times_faster, const std::string& ours = "penstock") {
    const auto& names = result.names();
    if (std::find(names.begin(), names.end(), rival) == names.end())
        report.missing(goal, Direction::at_least, times_faster, rival + " was not found when this was built");
    else report.goal(goal, result.ratio(rival, ours), Direction::at_least, times_faster);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "peers",
        "round trip, hand-off and throughput of null tasks beside oneTBB, OpenMP, std::async and Taskflow",
        {"peers/throughput-over-onetbb", "peers/throughput-over-openmp-depend", "peers/handoff-over-onetbb",
         "peers/help-over-onetbb"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    auto& floors = bench::nearest_floors();
    const auto machine = bench::make_machine();
    std::vector<Peer> peers{bench::penstock_peer(*machine), bench::penstock_helping_peer(*machine)};
    for (auto& peer : bench::all_peers()) peers.push_back(std::move(peer));

    const auto alone = compare(peers, &Peer::round_trip, bench::round_trip_of, 1000, floors.one_line(), options.plan);
    report.rows("round trip: ", alone);
    const auto handed = compare(peers, &Peer::hand_off, bench::hand_off_of, 1000, floors.one_line(), options.plan);
    report.rows("hand-off: ", handed);
    const auto many = compare(peers, &Peer::many, bench::throughput_of, 5000, floors.ring(), options.plan);
    report.rows("throughput: ", many);

    judge(report, "peers/throughput-over-onetbb", many, "onetbb", 5);
    judge(report, "peers/throughput-over-openmp-depend", many, "openmp-depend", 5);
    judge(report, "peers/handoff-over-onetbb", handed, "onetbb", 7);
    judge(report, "peers/help-over-onetbb", alone, "onetbb", 1, "penstock-help");
    report.note(
        "round trip: the waiting thread may run the task itself, where the rival does that; hand-off: another "
        "processor does");
    return report.finish();
}
