// Timelines of several nodes, on one clock.
#include "nodes/timeline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "nodes/chain.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/run.hpp"
#include "trace/json.hpp"

namespace {

using namespace filters;
using namespace std::chrono_literals;
using penstock::nodes::NodeClock;

/// A clock that began elsewhere, and runs at another pace.
struct Elsewhere {
    double pace, offset;
    std::uint64_t there(double here) const { return static_cast<std::uint64_t>(std::llround(here * pace + offset)); }
};

void ask(NodeClock& clock, bool again, double from, const Elsewhere& other, std::mt19937& random) {
    clock.begin(again);
    for (double now = from; clock.asks(); now += 50'000) {
        const double there = 500 + static_cast<double>(random() % 20'000),
                     back = static_cast<double>(random() % 20'000);
        EXPECT_TRUE(clock.ask(static_cast<std::uint64_t>(now)));
        clock.answered(static_cast<std::uint64_t>(now), other.there(now + there),
                       static_cast<std::uint64_t>(now + there + back));
    }
}

TEST(NodeClocks, no_time_is_wrong_by_more_than_is_said) {
    std::mt19937 random(6);
    for (int turn = 0; turn < 200; ++turn) {
        const Elsewhere other{0.3 + static_cast<double>(random() % 300) / 100, static_cast<double>(random())};
        NodeClock clock;
        ask(clock, false, 1e9, other, random);
        ask(clock, true, 1e9 + 1e8, other, random);
        ASSERT_TRUE(clock.known());
        EXPECT_LE(clock.bound(), 20'250u);
        for (double now = 1e9; now < 1.1e9; now += 1e6)
            EXPECT_NEAR(static_cast<double>(clock.here(other.there(now))), now,
                        static_cast<double>(clock.bound()) + 10);
    }
}

TEST(NodeClocks, an_answer_to_no_question_is_refused) {
    NodeClock clock;
    EXPECT_THROW(clock.answered(1, 2, 3), Error);
    clock.begin(false);
    EXPECT_TRUE(clock.ask(4));
    EXPECT_THROW(clock.answered(4, 2, 3), Error);
    EXPECT_THROW(clock.answered(3, 2, 5), Error);
    EXPECT_TRUE(clock.asks());
}

TEST(NodeClocks, a_question_that_is_under_way_is_not_asked_again) {
    NodeClock clock;
    clock.begin(false);
    EXPECT_TRUE(clock.ask(10));
    clock.begin(true);  // the recording is taken meanwhile
    EXPECT_FALSE(clock.ask(11));
    std::uint64_t now = 10;
    for (; clock.asks(); ++now) {
        clock.answered(now, 2, now + 1);
        EXPECT_TRUE(clock.ask(now + 1));
    }
    clock.answered(now, 2, now + 1);  // the last is answered, too
    EXPECT_FALSE(clock.asks());
}

/// What a file holds, in the program's ticks.
struct File {
    struct Firing {
        double begin, end;
    };
    std::map<std::string, int> processes;
    std::map<int, double> bounds;
    std::map<std::pair<int, std::string>, std::vector<Firing>> firings;

    explicit File(const std::string& text) {
        const auto json = test::JsonReader::read(text);
        const double origin = std::stod(json["otherData"]["origin_tick"].text);
        const double microsecond = 1e3 / json["otherData"]["nanoseconds_per_tick"].number;
        for (const auto& event : json["traceEvents"].list) {
            const int process = static_cast<int>(event["pid"].number);
            const auto& name = event["name"].text;
            if (name == "process_name") processes[event["args"]["name"].text] = process;
            if (name == "process_labels")
                bounds[process] =
                    std::stod(event["args"]["labels"].text.substr(sizeof "clock within" - 1)) * microsecond;
            if (!event.has("cat") || event["cat"].text != "firing") continue;
            const double begin = origin + event["ts"].number * microsecond;
            firings[{process, name}].push_back({begin, begin + event["dur"].number * microsecond});
        }
    }
};

TEST(NodeTimelines, what_a_node_does_lies_between_the_programs_sending_and_receiving) {
    Cluster cluster(workers(1));
    Graph graph;
    auto& writer = graph.add_writer<std::int64_t>("writer");
    auto& add = graph.add<Add>("add", {.nodes = "workers"}, 1, 100);
    auto& reader = graph.add_reader<std::int64_t>("reader");
    graph.connect(writer.output, add.in);
    graph.connect(add.out, reader.input);
    cluster.start_timeline();
    auto run = graph.start(cluster);
    constexpr std::size_t count = 100;
    std::vector<std::pair<double, double>> trips;
    for (std::size_t i = 0; i < count; ++i) {
        const auto sent = Clock::ticks();
        writer.write(writer.make(1));
        ASSERT_TRUE(reader.read());
        trips.emplace_back(static_cast<double>(sent), static_cast<double>(Clock::ticks()));
    }
    cluster.stop_timeline();
    const File file(cluster.timeline_json());
    writer.close();
    run.finish();
    ASSERT_EQ(file.processes.size(), 2u);
    ASSERT_TRUE(file.processes.contains("program"));
    const int node = file.processes.at("workers.0");
    const auto& firings = file.firings.at({node, "add"});
    ASSERT_GE(firings.size(), count - 1);  // the last may not have ended
    const double bound = file.bounds.at(node);
    EXPECT_LT(bound * Clock::nanoseconds_per_tick(), 1e9);
    for (std::size_t i = 0; i < firings.size(); ++i) {
        EXPECT_GE(firings[i].begin, trips[i].first - bound - 1e3) << i;
        EXPECT_LE(firings[i].begin, trips[i].second + bound + 1e3) << i;
    }
}

TEST(NodeTimelines, a_node_that_takes_anothers_place_is_in_them) {
    Cluster cluster(workers(2));
    cluster.start_timeline();
    WorkChain chain(OnNodeLoss::replay, true, 2'000, {.copies = 2});
    auto run = chain.graph.start(cluster);
    chain.wait_for(200);
    hit(cluster, "workers.1", SIGKILL);
    run.finish();
    const File file(cluster.timeline_json());
    EXPECT_EQ(file.processes.size(), 3u);
    for (const char* const node : {"workers.0", "workers.1"}) {
        const auto firings = file.firings.find({file.processes.at(node), "add"});
        ASSERT_NE(firings, file.firings.end()) << node;
        EXPECT_GT(firings->second.size(), 10u) << node;
    }
    EXPECT_THROW(cluster.start_timeline(0), UsageError);
}

}  // namespace
