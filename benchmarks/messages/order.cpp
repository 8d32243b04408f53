#include "messages/order.hpp"

#include <algorithm>

namespace messages {
namespace {

using penstock::Protocol;
using penstock::Substrate;

constexpr Protocol protocols[] = {Protocol::automatic, Protocol::ring, Protocol::pull, Protocol::push,
                                  Protocol::pure_pull};

std::string words(std::size_t bytes) {
    if (bytes >= std::size_t{1} << 20) return std::to_string(bytes >> 20) + " MiB";
    if (bytes >= 1024) return std::to_string(bytes >> 10) + " KiB";
    return std::to_string(bytes) + " B";
}

/// A run that is too noisy is done again, of every size: the worst of all is a goal.
bench::Plan plan_for(const bench::Options& options, bool judged, std::size_t bytes) {
    bench::Plan plan = options.plan;
    plan.most_settle_ms = 6;  // whose turn it is not sleeps: nobody's threads look for work
    if (!options.quick && !judged) plan.rounds = bytes > bandwidth_bytes ? 15 : 31;
    return plan;
}

std::string of(Substrate substrate) { return ", " + std::string(penstock::name(substrate)) + ", "; }

void add_ours(Stage& stage, Order order) {
    for (const Protocol protocol : protocols) {
        order.protocol = protocol;
        stage.entries.push_back({std::string(penstock::name(protocol)), order});
    }
}

Stage latency(const bench::Options& options, Substrate substrate, std::size_t bytes, bool rival) {
    Stage stage{"half a round trip of " + words(bytes) + of(substrate), Stage::latency, {}, {}, bytes};
    stage.judged = bytes == latency_bytes;
    stage.plan = plan_for(options, stage.judged, bytes);
    stage.entries.push_back({"F2", {.work = Work::two_lines}});
    Order order{.work = Work::round_trips, .bytes = bytes};
    add_ours(stage, order);
    order.work = Work::rival_trips;
    if (rival) stage.entries.push_back({"Open MPI", order});
    return stage;
}

Stage bandwidth(const bench::Options& options, Substrate substrate, std::size_t bytes, bool rival) {
    Stage stage{"stream of " + words(bytes) + of(substrate), Stage::bandwidth, {}, {}, bytes};
    stage.judged = bytes == bandwidth_bytes;
    stage.plan = plan_for(options, stage.judged, bytes);
    Order order{.work = Work::bare_copy, .bytes = bytes};
    stage.entries.push_back({"memcpy", order});
    order.work = Work::fan;
    add_ours(stage, order);
    if (substrate == Substrate::processes) {
        order.protocol = Protocol::automatic;
        order.memory = Memory::allotted;
        stage.entries.push_back({"automatic, from allocate()", order});
    }
    order.work = Work::rival_fan;
    if (rival) stage.entries.push_back({"Open MPI", order});
    return stage;
}

/// One source and several destinations, several sources and one destination, or several pairs.
Stage several(const bench::Options& options, Substrate substrate, Work work, int width, int ranks, int processors,
              std::size_t bytes, int rivals) {
    const std::string count = std::to_string(width);
    const std::string who = work == Work::fan      ? "from one to " + count
                            : work == Work::gather ? "from " + count + " to one"
                                                   : count + " pairs";
    Stage stage{who + ", " + words(bytes) + (ranks > processors ? ", more ranks than processors" : "") + of(substrate),
                Stage::several,
                {},
                plan_for(options, false, bytes),
                bytes};
    Order order{.work = work, .bytes = bytes};
    order.width = static_cast<std::uint32_t>(width);
    add_ours(stage, order);
    order.work = work == Work::fan ? Work::rival_fan : Work::rival_trips;
    if (ranks <= rivals && work != Work::gather) stage.entries.push_back({"Open MPI", order});
    return stage;
}

/// 2, 4 ... and the most that have processors of their own; at least 2. With 1 each of them is what two ranks do.
std::vector<int> widths(int most) {
    std::vector<int> all;
    for (int width = 2; width < most; width *= 2) all.push_back(width);
    all.push_back(most);
    return all;
}

}  // namespace

std::vector<Team> teams(const bench::Options& options, int processors, int rivals) {
    std::vector<Team> all;
    const auto sizes = options.quick ? std::vector<std::size_t>{latency_bytes, 4096, 65536, bandwidth_bytes}
                                     : std::vector<std::size_t>{1,
                                                                latency_bytes,
                                                                32,
                                                                64,
                                                                256,
                                                                1024,
                                                                4096,
                                                                8192,
                                                                16384,
                                                                65536,
                                                                262144,
                                                                bandwidth_bytes,
                                                                4 * bandwidth_bytes,
                                                                largest_bytes};
    const auto few = options.quick ? std::vector<std::size_t>{latency_bytes, 65536}
                                   : std::vector<std::size_t>{latency_bytes, 65536, bandwidth_bytes};
    for (const Substrate substrate : {Substrate::processes, Substrate::threads}) {
        Team two{substrate, 2, {}};
        for (const auto bytes : sizes) two.stages.push_back(latency(options, substrate, bytes, rivals >= 2));
        for (const auto bytes : sizes)
            if (bytes == latency_bytes || bytes >= 256)
                two.stages.push_back(bandwidth(options, substrate, bytes, rivals >= 2));
        all.push_back(std::move(two));
        const auto one_team = [&](Work work, int width, int ranks) {
            Team team{substrate, ranks, {}};
            for (const auto bytes : few)
                team.stages.push_back(several(options, substrate, work, width, ranks, processors, bytes, rivals));
            all.push_back(std::move(team));
        };
        for (const int width : widths(std::clamp(processors - 1, 2, 16))) {
            one_team(Work::fan, width, width + 1);
            one_team(Work::gather, width, width + 1);
        }
        for (const int width : widths(std::clamp(processors / 2, 2, 8))) one_team(Work::round_trips, width, 2 * width);
    }
    return all;
}

}  // namespace messages
