// What each node has done, node by node: counters of threads, and figures of a run.
#include "nodes/snapshot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "nodes/chain.hpp"
#include "nodes/engine_once.hpp"
#include "nodes/liar.hpp"
#include "penstock/run.hpp"
#include "trace/json.hpp"

namespace {

using namespace filters;
using namespace liars;
using namespace std::chrono_literals;
using penstock::nodes::CarriedCounters;
using penstock::nodes::CountersPart;
using penstock::nodes::snapshot_of;
using wire::comes_true;

std::vector<std::string> names_of(const ClusterSnapshot& snapshot) {
    std::vector<std::string> names;
    for (const auto& part : snapshot.parts) names.push_back(part.node);
    return names;
}

const ClusterSnapshot::Part& part_of(const ClusterSnapshot& snapshot, const std::string& node) {
    return *std::ranges::find(snapshot.parts, node, &ClusterSnapshot::Part::node);
}

/// Tasks that ran there, on targets or on threads that waited.
std::uint64_t tasks_of(const trace::Snapshot& snapshot) {
    std::uint64_t sum = 0;
    for (const auto& [key, entry] : snapshot.tracks()) {
        if (const auto* const target = std::get_if<trace::TargetTotals>(&entry.totals)) sum += target->tasks;
        else sum += std::get<trace::InitiatorTotals>(entry.totals).helped;
    }
    return sum;
}

TEST(NodeSnapshots, each_node_has_a_section_of_its_own_threads) {
    Cluster cluster(workers(2));
    const auto before = cluster.snapshot();
    ASSERT_EQ(names_of(before), (std::vector<std::string>{"program", "workers.0", "workers.1"}));
    WorkChain chain(OnNodeLoss::stop, true, 500, {.copies = 2});
    auto run = chain.graph.start(cluster);
    run.finish();
    const auto period = cluster.snapshot() - before;
    for (const auto& part : period.parts) {
        ASSERT_TRUE(part.counters) << part.node;
        EXPECT_EQ(part.note, "") << part.node;
        EXPECT_GT(tasks_of(*part.counters), 0u) << part.node;
        for (const auto& bar : trace::Breakdown(*part.counters).bars()) {
            std::uint64_t sum = 0;
            for (const auto& share : bar.shares) sum += share.ticks;
            EXPECT_EQ(sum, bar.wall_ticks) << part.node;
        }
    }
    const auto table = period.table();
    std::size_t at = 0;
    for (const char* const node : {"program\n", "\nworkers.0\n", "\nworkers.1\n"}) {
        at = table.find(node, at);
        ASSERT_NE(at, std::string::npos) << table;
        EXPECT_NE(table.find("target 0", at), std::string::npos) << table;
    }
    const auto json = test::JsonReader::read(period.json());
    ASSERT_EQ(json["nodes"].list.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto& node = json["nodes"].list[i];
        EXPECT_EQ(node["node"].text, period.parts[i].node);
        EXPECT_EQ(node["breakdown"]["tracks"].list.size(), period.parts[i].counters->tracks().size());
    }
    EXPECT_THROW((void)(before - cluster.snapshot()), UsageError);
}

TEST(NodeSnapshots, a_node_without_a_part_in_any_run_is_there_and_has_no_threads) {
    Cluster cluster(workers(1));
    const auto snapshot = cluster.snapshot();
    ASSERT_EQ(names_of(snapshot), (std::vector<std::string>{"program", "workers.0"}));
    EXPECT_TRUE(snapshot.parts[1].counters->tracks().empty());
    EXPECT_NE(snapshot.table().find("workers.0\nnothing was traced\n"), std::string::npos) << snapshot.table();
}

TEST(NodeSnapshots, what_travels_is_what_was_counted) {
    Machine machine({.targets = 2, .pin = false});
    for (int i = 0; i < 1'000; ++i) machine.call([] {});
    machine.finish();
    const auto part = penstock::nodes::counters_of(&machine, 7);
    EXPECT_EQ(std::get<0>(part), 7u);
    const auto here = machine.snapshot();
    const auto there = snapshot_of(penstock::nodes::unpacked<CountersPart>(penstock::nodes::packed(part)));
    EXPECT_LE(there.now(), here.now());
    EXPECT_EQ(there.nanoseconds_per_tick(), here.nanoseconds_per_tick());
    ASSERT_EQ(there.tracks().size(), here.tracks().size());
    for (const auto& [key, entry] : here.tracks()) {
        const auto& carried = there.tracks().at(key);
        EXPECT_EQ(carried.track.name, entry.track.name);
        EXPECT_EQ(carried.track.started, entry.track.started);
        if (const auto* const counts = std::get_if<trace::TargetTotals>(&entry.totals)) {
            EXPECT_EQ(std::get<trace::TargetTotals>(carried.totals).tasks, counts->tasks);
            EXPECT_LE(std::get<trace::TargetTotals>(carried.totals).idle_ticks, counts->idle_ticks);
        } else {
            EXPECT_EQ(std::get<trace::InitiatorTotals>(carried.totals).calls, 1'000u);
        }
    }
}

TEST(NodeSnapshots, what_no_machine_counts_is_refused) {
    constexpr std::uint64_t beyond = std::uint64_t{1} << 62;
    constexpr std::size_t of_initiator = 15, of_target = 13, idle_ticks = 10, stall_ticks = 8;
    const auto one = [](bool target, std::size_t counters) {
        return CountersPart{1, 1'000, 0.5, {{target, 0, "target 0", 10, 0, std::vector<std::uint64_t>(counters, 3)}}};
    };
    EXPECT_NO_THROW((void)snapshot_of(one(true, of_target)));
    EXPECT_NO_THROW((void)snapshot_of(one(false, of_initiator)));
    using Change = std::function<void(CountersPart&, CarriedCounters&)>;
    const std::vector<std::pair<const char*, Change>> changes = {
        {"a clock of no time", [](auto& part, auto&) { std::get<2>(part) = 0; }},
        {"a clock that is no number",
         [](auto& part, auto&) { std::get<2>(part) = std::numeric_limits<double>::quiet_NaN(); }},
        {"a clock beyond all clocks", [](auto& part, auto&) { std::get<1>(part) = beyond; }},
        {"a beginning beyond all clocks", [](auto&, auto& track) { std::get<3>(track) = beyond; }},
        {"an end beyond all clocks", [](auto&, auto& track) { std::get<4>(track) = beyond; }},
        {"a counter too few", [](auto&, auto& track) { std::get<5>(track).pop_back(); }},
        {"a counter too many", [](auto&, auto& track) { std::get<5>(track).push_back(0); }},
        {"another role", [](auto&, auto& track) { std::get<0>(track) = !std::get<0>(track); }},
        {"the same track twice", [](auto& part, auto& track) { std::get<3>(part).push_back(CarriedCounters(track)); }},
        {"ticks beyond all clocks",
         [](auto&, auto& track) { std::get<5>(track)[std::get<0>(track) ? idle_ticks : stall_ticks] = beyond; }},
    };
    for (const auto& [what, change] : changes)
        for (const bool target : {false, true}) {
            auto part = one(target, target ? of_target : of_initiator);
            change(part, std::get<3>(part).front());
            EXPECT_THROW((void)snapshot_of(part), Error) << what;
        }
}

ClusterOptions with_a_liar(const std::shared_ptr<EngineOfLiars>& engine) {
    auto options = workers(1);
    options.nodes = {{"honest", 1}, {"liars", 1}};
    options.own_engine = engine;
    options.listen = "unix";
    options.patience = 2s;
    return options;
}

TEST(NodeSnapshots, a_node_that_lies_or_says_nothing_is_named_and_the_others_are_there) {
    struct Lie {
        const char* name;
        Liar::Counting says;
        bool noticed = true;
    };
    const std::vector<Lie> lies = {
        {"the truth", [](auto question) { return CountersPart{question, 1, 1.0, {}}; }, false},
        {"nothing", {}, false},
        {"what was asked before", [](auto question) { return CountersPart{question - 1, 1, 1.0, {}}; }},
        {"what will be asked", [](auto question) { return CountersPart{question + 1, 1, 1.0, {}}; }},
        {"too few", [](auto question) { return CountersPart{question, 1, 1.0, {{true, 0, "target 0", 0, 0, {1}}}}; }},
    };
    const auto engine = std::make_shared<EngineOfLiars>();
    Cluster cluster(with_a_liar(engine));
    std::uint64_t replaced = 0;
    for (const auto& [name, says, noticed] : lies) {
        SCOPED_TRACE(name);
        engine->liar()->counts(says);
        const auto snapshot = cluster.snapshot();
        ASSERT_EQ(names_of(snapshot), (std::vector<std::string>{"program", "honest.0", "liars.0"}));
        EXPECT_TRUE(snapshot.parts[0].counters && snapshot.parts[1].counters);
        const auto& of_liar = snapshot.parts[2];
        EXPECT_EQ(of_liar.counters.has_value(), std::string_view(name) == "the truth");
        if (noticed) {
            EXPECT_NE(of_liar.note.find("it is lost: it cannot be reached, or sent what it should not"),
                      std::string::npos)
                << of_liar.note;
            ++replaced;
            ASSERT_TRUE(comes_true([&] { return cluster.replaced() == replaced; }));
        } else if (!of_liar.counters) {
            EXPECT_EQ(of_liar.note, "it has not answered");
            engine->liar()->say(number(Control::last), About{});  // another comes for the next lie
            ++replaced;
            ASSERT_TRUE(comes_true([&] { return cluster.replaced() == replaced; }));
        }
    }
}

TEST(NodeSnapshots, a_node_that_is_lost_is_named_with_how) {
    auto options = workers(2);
    options.own_engine = std::make_shared<EngineOnce>(true);
    options.listen = "unix";
    Cluster cluster(options);
    WorkChain chain(OnNodeLoss::stop, true, 1'000'000, {.copies = 2});
    auto run = chain.graph.start(cluster);
    chain.wait_for(100);
    const auto before = cluster.snapshot();
    ASSERT_TRUE(part_of(before, "workers.1").counters);
    ASSERT_TRUE(comes_true([&] { return run.statistics_by_node().back().figures.filters.size() == 1; }));
    hit(cluster, "workers.1", SIGKILL);
    EXPECT_THROW(run.finish(), NodeDied);
    const auto period = cluster.snapshot() - before;
    ASSERT_EQ(period.parts.size(), 3u);
    EXPECT_TRUE(part_of(period, "workers.0").counters);
    const auto& lost = part_of(period, "workers.1");
    EXPECT_FALSE(lost.counters);
    EXPECT_NE(lost.note.find("it is lost: its agent ended by signal 9"), std::string::npos) << lost.note;
    EXPECT_NE(period.table().find("workers.1\n" + lost.note), std::string::npos);
    const auto json = test::JsonReader::read(period.json());
    EXPECT_EQ(json["nodes"].list[2]["note"].text, lost.note);

    const auto said = run.statistics_by_node();
    ASSERT_EQ(said.size(), 3u);
    EXPECT_EQ(said[1].lost, "");
    EXPECT_EQ(said[2].node, "workers.1");
    EXPECT_EQ(said[2].lost, "its agent ended by signal 9");
    ASSERT_EQ(said[2].figures.filters.size(), 1u);
    EXPECT_GT(said[2].figures.filters[0].firings, 0u);  // what it said last
}

TEST(NodeSnapshots, of_a_node_that_took_anothers_place_both_are_named) {
    Cluster cluster(workers(2));
    WorkChain chain(OnNodeLoss::replay, true, 5'000, {.copies = 2});
    auto run = chain.graph.start(cluster);
    chain.wait_for(200);
    const auto before = cluster.snapshot();
    ASSERT_TRUE(comes_true([&] { return run.statistics_by_node().back().figures.filters.size() == 1; }));
    hit(cluster, "workers.1", SIGKILL);
    run.finish();
    const auto after = cluster.snapshot(), period = after - before;
    const auto& another = part_of(period, "workers.1");
    ASSERT_TRUE(another.counters);
    EXPECT_EQ(another.generation, 2u);
    EXPECT_EQ(another.note, "an agent was lost: its agent ended by signal 9; this is of the one that took its place");
    EXPECT_GT(tasks_of(*another.counters), 0u);
    EXPECT_EQ(part_of(cluster.snapshot() - after, "workers.1").note, "");  // nobody was lost in between

    const auto said = run.statistics_by_node();
    ASSERT_EQ(said.size(), 4u);
    EXPECT_EQ(said[0].node, "program");
    EXPECT_EQ(said[1].node, "workers.0");
    EXPECT_EQ(said[2].node, "workers.1");
    EXPECT_EQ(said[2].generation, 2u);
    EXPECT_EQ(said[2].lost, "");
    EXPECT_EQ(said[3].node, "workers.1");
    EXPECT_EQ(said[3].generation, 1u);
    EXPECT_EQ(said[3].lost, "its agent ended by signal 9");
    for (const std::size_t node : {1, 2, 3}) {
        ASSERT_EQ(said[node].figures.filters.size(), 1u) << node;
        EXPECT_EQ(said[node].figures.filters[0].name, "add");
        EXPECT_GT(said[node].figures.filters[0].firings, 0u) << node;
    }
}

TEST(NodeSnapshots, figures_by_node_are_those_of_the_copies_there) {
    Cluster cluster(workers(2));
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 600);
    auto& add = graph.add<Add>("add", {.copies = 3, .nodes = "workers"}, 1);
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, add.in, {.policy = Policy::round_robin});
    graph.connect(add.out, sink.in);
    auto run = graph.start(cluster);
    run.finish();
    const auto said = run.statistics_by_node();
    ASSERT_EQ(said.size(), 3u);
    ASSERT_EQ(said[0].figures.filters.size(), 2u);
    EXPECT_EQ(said[0].figures.filters[1].name, "collect");
    EXPECT_EQ(said[0].figures.filters[1].firings, 600u);
    ASSERT_EQ(said[1].figures.filters.size(), 1u);
    ASSERT_EQ(said[2].figures.filters.size(), 1u);
    EXPECT_EQ(said[1].figures.filters[0].copies, 2);
    EXPECT_EQ(said[1].figures.filters[0].firings, 400u);
    EXPECT_EQ(said[2].figures.filters[0].copies, 1);
    EXPECT_EQ(said[2].figures.filters[0].firings, 200u);
}

TEST(NodeSnapshots, on_one_machine_the_program_is_alone) {
    Machine machine({.targets = 1, .pin = false});
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 10);
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, sink.in);
    auto run = graph.start(machine);
    run.finish();
    const auto said = run.statistics_by_node();
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].node, "program");
    EXPECT_EQ(said[0].figures.filters.size(), 2u);
}

}  // namespace
