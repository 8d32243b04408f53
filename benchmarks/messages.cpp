// Messages between ranks: half round trips and bandwidth over sizes, protocols and substrates, from one to several,
// from several to one and in several pairs, beside Open MPI, F2 and a bare memcpy.
#include <algorithm>
#include <string>
#include <vector>

#include "harness/floors.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "messages/order.hpp"
#include "messages/side.hpp"
#include "messages/tape.hpp"
#include "peers/openmpi.hpp"
#include "penstock/spmd.hpp"

namespace {

using namespace messages;
using bench::Contestant;
using bench::Direction;
using penstock::Rank;
using penstock::Substrate;

constexpr std::size_t figures_on_tape = std::size_t{4} << 20;

bool has_singles(const Stage& stage, const Order& order) {
    return stage.judged && stage.kind == Stage::latency && order.work == Work::round_trips;
}

Contestant with_times(const Stage& stage, const Entry& entry, Side& side, bench::Floors& floors, bench::OpenMpi& rival,
                      std::uint32_t times) {
    Order order = entry.order;
    order.times = times;
    const int width = static_cast<int>(order.width);
    switch (order.work) {
        case Work::two_lines:
            return floors.two_lines();
        case Work::rival_trips:
            return rival.pairs(order.bytes, order.times, width);
        case Work::rival_fan:
            return rival.fan(order.bytes, order.times, width);
        default: {
            const double share = order.work == Work::round_trips ? 0.5 : 1;
            Contestant ours{entry.name, [&side, order, share] { return side.timed(order) * share; }};
            if (has_singles(stage, order))
                ours.singles = [&side, order](std::vector<double>& each) { side.singles(order, each); };
            return ours;
        }
    }
}

/// With as many operations a batch as take a few milliseconds: one may take 50 ns or, with more ranks than processors,
/// a thousand times as long. Everybody's are counted by the same rule, behind a few that make what is made once.
Contestant live(const Stage& stage, const Entry& entry, Side& side, bench::Floors& floors, bench::OpenMpi& rival,
                bool quick) {
    if (entry.order.work == Work::two_lines) return floors.two_lines();
    constexpr std::uint32_t fewest = 2, most = 4000;
    const double wanted = quick ? 1e6 : 2.5e6;
    const Contestant few = with_times(stage, entry, side, floors, rival, stage.bytes < 64 * 1024 ? 20 : 2);
    static_cast<void>(few.batch());
    const double one = bench::median({few.batch(), few.batch(), few.batch()});
    const auto times = static_cast<std::uint32_t>(std::clamp(wanted / one, double{fewest}, double{most}));
    return with_times(stage, entry, side, floors, rival, times);
}

/// In the team: rank 0 measures, the others do as it says.
void measure(const Team& team, Rank me, Tape& tape, bench::OpenMpi& rival, bool quick) {
    const auto& processors = bench::allowed_processors();
    bench::pin_this_thread(processors[static_cast<std::size_t>(me.index()) % processors.size()]);
    Side side(me);
    if (me.index() != 0) return side.serve();
    bench::Floors floors{processors.front(), processors[processors.size() > 1 ? 1 : 0]};
    for (const Stage& stage : team.stages) {
        std::vector<Contestant> contestants;
        for (const Entry& entry : stage.entries)
            contestants.push_back(tape.recording(live(stage, entry, side, floors, rival, quick)));
        bench::measure(contestants, stage.plan);
    }
    side.stop();
}

/// In the program: what rank 0 found.
bench::Result played(const Stage& stage, Tape& tape) {
    std::vector<Contestant> contestants;
    for (const Entry& entry : stage.entries)
        contestants.push_back(tape.playing(entry.name, has_singles(stage, entry.order)));
    bench::Plan plan = stage.plan;
    plan.settle_ms = plan.most_settle_ms = 0;
    return bench::measure(contestants, plan);
}

void report_rows(bench::Report& report, const Stage& stage, const bench::Result& result) {
    const std::string& first = result.names().front();
    if (stage.kind == Stage::latency && stage.judged) return report.rows(stage.title, result);
    if (stage.kind != Stage::several) report.conditions(result);
    for (const auto& name : result.names()) {
        const double nanoseconds = result.median(name);
        const bool latency = stage.kind == Stage::latency;
        const auto over = latency ? result.ratio(name, first).usual : result.ratio(first, name).usual;
        const auto order = std::find_if(stage.entries.begin(), stage.entries.end(), [&](const Entry& entry) {
                               return entry.name == name;
                           })->order;
        const double bytes = static_cast<double>(stage.bytes * order.width);
        if (latency)
            report.row(
                stage.title + name,
                {{"median_ns", nanoseconds}, {"over_" + first, over.value}, {"low", over.low}, {"high", over.high}});
        else
            report.row(stage.title + name, {{"us", nanoseconds / 1000},
                                            {"GB_a_second", bytes / nanoseconds},
                                            {"times_" + first, over.value},
                                            {"low", over.low},
                                            {"high", over.high}});
    }
}

/// Threads and processes together: the worse of them is what a user can rely on.
void judge(const bench::Ratio& both, bench::Report& report, const char* name, Direction direction, double goal,
           const std::string& why) {
    if (both.standings.empty()) report.missing(name, direction, goal, why);
    else report.goal(name, both, direction, goal, bench::Judged::by_interval);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{"messages",
                             "half a round trip and bandwidth of messages by each protocol, threads and processes",
                             {"messages/latency-8", "messages/latency-over-openmpi", "messages/bandwidth",
                              "messages/bandwidth-over-openmpi", "messages/over-openmpi"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    const int processors = static_cast<int>(bench::allowed_processors().size());
    const int rivals = std::min(processors, 16);
    bench::OpenMpi rival(std::max(rivals, 2));
    Tape tape(figures_on_tape);

    bench::Ratio latency, bandwidth, latency_over_rival, bandwidth_over_rival, over_rival;
    for (const Team& team : teams(options, processors, rival.available() ? rivals : 0)) {
        tape.rewind();
        penstock::spmd(team.ranks, [&](Rank me) { measure(team, me, tape, rival, options.quick); },
                       {.substrate = team.substrate, .pin = false});
        tape.rewind();
        for (const Stage& stage : team.stages) {
            const auto result = played(stage, tape);
            report_rows(report, stage, result);
            const bool beside_rival = std::ranges::find(result.names(), "Open MPI") != result.names().end();
            if (team.substrate == Substrate::processes && stage.kind != Stage::several && beside_rival)
                over_rival.add(result.ratio("Open MPI", "automatic"));
            if (!stage.judged) continue;
            const bool trips = stage.kind == Stage::latency;
            if (trips) latency.add(result.ratio("automatic", "F2"));
            else if (team.substrate == Substrate::threads) bandwidth.add(result.ratio("memcpy", "automatic"));
            if (rival.available())
                (trips ? latency_over_rival : bandwidth_over_rival).add(result.ratio("Open MPI", "automatic"));
        }
    }
    judge(latency, report, "messages/latency-8", Direction::at_most, 0.75, "");
    judge(latency_over_rival, report, "messages/latency-over-openmpi", Direction::at_least, 1, rival.why());
    judge(over_rival, report, "messages/over-openmpi", Direction::at_least, 1, rival.why());
    judge(bandwidth, report, "messages/bandwidth", Direction::at_least, 0.9, "");
    judge(bandwidth_over_rival, report, "messages/bandwidth-over-openmpi", Direction::at_least, 1, rival.why());

    report.note(
        "each goal is judged by the worse of threads and processes, bandwidth between threads alone, over-openmpi by "
        "the worst size between processes, in round trips and in streams; 99.9th percentiles are of single messages");
    report.note("memcpy: the receiver copies from memory of the sender, told by a flag and answering by one");
    report.note(rival.available() ? rival.version() +
                                        " between processes, over shared memory (--mca pml ob1 --mca btl "
                                        "self,vader), each rank bound to a core"
                                  : rival.why());
    if (processors < 2) report.note("one processor: both ranks share it, so the figures are those of switching");
    return report.finish();
}
