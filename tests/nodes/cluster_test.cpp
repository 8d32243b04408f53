// Graphs on a cluster of agents, which are processes of this machine.
#include "penstock/cluster.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "nodes/cluster_state.hpp"
#include "nodes/filters.hpp"
#include "penstock/components.hpp"
#include "penstock/run.hpp"

namespace {

using namespace filters;
using namespace std::chrono_literals;

ClusterOptions small(int nodes, const std::string& listen = "unix") {
    ClusterOptions options;
    options.nodes = {{"workers", nodes}};
    options.machine.targets = 1;
    options.node_machine.targets = 1;
    options.listen = listen;
    return options;
}

class Clusters : public testing::TestWithParam<std::pair<const char*, Encryption>> {};
INSTANTIATE_TEST_SUITE_P(Ways, Clusters,
                         testing::Values(std::pair("unix", Encryption::tls),
                                         std::pair("tcp:127.0.0.1:0", Encryption::tls),
                                         std::pair("tcp:127.0.0.1:0", Encryption::none)),
                         [](const auto& each) {
                             return std::string(each.index == 0 ? "unix" : each.index == 1 ? "tls" : "tcp");
                         });

TEST_P(Clusters, a_graph_runs_over_two_nodes) {
    auto options = small(2, GetParam().first);
    options.encryption = GetParam().second;
    Cluster cluster(options);
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 2'000);
    auto& add = graph.add<Add>("add", {.copies = 4, .nodes = "workers"}, 5);
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, add.in);
    graph.connect(add.out, sink.in, {.ordered = true});
    auto run = graph.start(cluster);
    run.finish();
    EXPECT_EQ(sink.got, numbers(2'000, 5));
}

TEST(Cluster, nodes_send_to_nodes) {
    auto options = small(2);
    options.nodes = {{"first", 2}, {"second", 2}};
    Cluster cluster(options);
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 3'000);
    auto& first = graph.add<Add>("first", {.copies = 2, .nodes = "first"}, 1);
    auto& second = graph.add<Add>("second", {.copies = 2, .nodes = "second"}, 1);
    auto& sum = graph.add<Sum>("sum", {.nodes = "first"});
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, first.in);
    graph.connect(first.out, second.in);
    graph.connect(second.out, sum.in);
    graph.connect(sum.out, sink.in);
    auto run = graph.start(cluster);
    run.finish();
    EXPECT_EQ(sink.got, std::vector<std::int64_t>{3'000 * 2'999 / 2 + 2 * 3'000});
}

TEST(Cluster, components_travel_by_name_with_their_settings) {
    Cluster cluster(small(1));
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 10);
    graph.add_kind("multiply", {.nodes = "workers"}, Components::known().find("multiply")->kind);
    auto& sink = graph.add<Collect>("collect");
    graph.set("multiply", "factor", std::int64_t{3});
    graph.connect("numbers.out", "multiply.in");
    graph.connect("multiply.out", "collect.in");
    auto run = graph.start(cluster);
    run.finish();
    std::vector<std::int64_t> wanted;
    for (std::int64_t i = 0; i < 10; ++i) wanted.push_back(3 * i);
    EXPECT_EQ(sink.got, wanted);
    (void)source;
}

TEST(Cluster, several_graphs_run_one_after_the_other_and_at_once) {
    Cluster cluster(small(1));
    for (int turn = 0; turn < 3; ++turn) {
        Graph one, other;
        std::vector<Collect*> sinks;
        for (Graph* const graph : {&one, &other}) {
            auto& source = graph->add<Numbers>("numbers", {}, 500);
            auto& add = graph->add<Add>("add", {.nodes = "workers"}, turn);
            sinks.push_back(&graph->add<Collect>("collect"));
            graph->connect(source.out, add.in);
            graph->connect(add.out, sinks.back()->in);
        }
        auto first = one.start(cluster);
        auto second = other.start(cluster);
        second.finish();
        first.finish();
        for (const auto* const sink : sinks) EXPECT_EQ(sink->got, numbers(500, turn));
    }
}

TEST(Cluster, a_firing_that_throws_on_a_node_is_reported_by_name) {
    Cluster cluster(small(1));
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 1'000'000);
    auto& add = graph.add<Add>("add", {.nodes = "workers"}, 0, 0, 100);
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, add.in);
    graph.connect(add.out, sink.in);
    auto run = graph.start(cluster);
    try {
        run.finish();
        ADD_FAILURE();
    } catch (const FilterFailed& failure) {
        EXPECT_EQ(failure.filter(), "add");
        EXPECT_EQ(failure.firing(), 100u);
        EXPECT_NE(std::string(failure.what()).find("bad value"), std::string::npos);
    }
    EXPECT_LT(source.next, 1'000'000);
}

/// What a node reports comes in on a thread of its own, while others are about to end the run.
TEST(Cluster, a_firing_that_throws_on_a_node_does_so_while_another_throws_here) {
    Cluster cluster(small(1));
    for (int turn = 0; turn < 80; ++turn) {
        Graph graph;
        auto& source = graph.add<Numbers>("numbers", {}, 1'000'000);
        auto& away = graph.add<Add>("away", {.nodes = "workers"}, 0, 0, 100);
        auto& here = graph.add<Add>("here", {}, 0, 0, 80 + turn % 20);
        auto& sink = graph.add<Collect>("collect");
        graph.connect(source.out, away.in);
        graph.connect(away.out, here.in);
        graph.connect(here.out, sink.in);
        auto run = graph.start(cluster);
        try {
            run.finish();
            ADD_FAILURE();
        } catch (const FilterFailed& failure) {
            EXPECT_TRUE(failure.filter() == "away" || failure.filter() == "here") << failure.filter();
            EXPECT_NE(std::string(failure.what()).find("bad value"), std::string::npos);
        }
        EXPECT_LT(source.next, 1'000'000);
    }
}

TEST(Cluster, what_is_wrong_with_a_graph_for_a_cluster_is_named) {
    Cluster cluster(small(1));
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 10);
    auto& add = graph.add<Add>("add", {.nodes = "decoders"}, 0);
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, add.in);
    graph.connect(add.out, sink.in);
    try {
        (void)graph.start(cluster);
        ADD_FAILURE();
    } catch (const GraphError& error) {
        EXPECT_EQ(error.problems(),
                  std::vector<std::string>{
                      "filter 'add' is for the nodes 'decoders', which the cluster does not have: it has 'workers'"});
    }
}

TEST(Cluster, a_run_counts_what_all_nodes_do_and_says_what_goes_where) {
    Cluster cluster(small(2));
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 1'000);
    auto& add = graph.add<Add>("add", {.copies = 2, .nodes = "workers"}, 0);
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, add.in);
    graph.connect(add.out, sink.in);
    EXPECT_EQ(cluster.split(graph).text(),
              "program: numbers, collect\nworkers.0: add.0\nworkers.1: add.1\n"
              "cut: numbers.out -> add.in\ncut: add.out -> collect.in\n");
    auto run = graph.start(cluster);
    run.finish();
    const auto figures = run.statistics();
    ASSERT_EQ(figures.filters.size(), 3u);
    for (const auto& each : figures.filters) EXPECT_EQ(each.copies, each.name == "add" ? 2 : 1) << each.name;
    const auto of_add = std::ranges::find(figures.filters, "add", &FilterStatistics::name);
    EXPECT_EQ(of_add->firings, 1'000u);
    ASSERT_EQ(figures.streams.size(), 2u);
    for (const auto& each : figures.streams) EXPECT_EQ(each.buffers, 1'000u) << each.from;
}

/// Writes to how many processors its thread is kept.
struct Kept {
    Output<std::int64_t> out{"out"};
    bool operator()() {
        cpu_set_t set;
        CPU_ZERO(&set);
        if (sched_getaffinity(0, sizeof set, &set) != 0) throw std::runtime_error("no mask");
        auto buffer = out.make(1);
        buffer.edit()[0] = CPU_COUNT(&set);
        out.write(std::move(buffer));
        return false;
    }
};

TEST(Cluster, targets_of_agents_are_pinned_unless_the_program_starts_them_beside_itself) {
    cpu_set_t all;
    CPU_ZERO(&all);
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) == 1) GTEST_SKIP() << "this machine has one processor";
    for (const bool here : {true, false}) {
        auto options = small(1);
        if (!here) options.own_engine = nodes::engine_named(options);
        Cluster cluster(options);
        Graph graph;
        auto& kept = graph.add<Kept>("kept", {.nodes = "workers"});
        auto& sink = graph.add<Collect>("collect");
        graph.connect(kept.out, sink.in);
        graph.start(cluster).finish();
        EXPECT_EQ(sink.got, std::vector<std::int64_t>{here ? CPU_COUNT(&all) : 1});
    }
}

TEST(Cluster, a_target_that_reads_the_wires_does_its_other_tasks_too) {
    Cluster cluster(small(1));
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, -1);
    auto& add = graph.add<Add>("add", {.copies = 2, .nodes = "workers"}, 1);
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, add.in);
    graph.connect(add.out, sink.in, {.ordered = true});
    auto run = graph.start(cluster);
    Machine& machine = cluster.machine();
    std::atomic<int> done{0};
    for (int i = 0; i < 1'000; ++i) {
        machine.call([&done] { ++done; });
        machine.barrier();
    }
    EXPECT_EQ(done, 1'000);
    const auto before = sink.arrived.load();
    while (sink.arrived == before) std::this_thread::yield();
    run.close();
    run.finish();
    EXPECT_EQ(sink.got, numbers(static_cast<std::int64_t>(sink.got.size()), 1));
}

TEST(Cluster, a_run_can_be_stopped_and_destroyed_before_its_end) {
    Cluster cluster(small(1));
    for (const bool stopped : {true, false}) {
        Graph graph;
        auto& source = graph.add<Numbers>("numbers", {}, 1'000'000'000);
        auto& add = graph.add<Add>("add", {.nodes = "workers"}, 0);
        auto& sink = graph.add<Collect>("collect");
        graph.connect(source.out, add.in);
        graph.connect(add.out, sink.in);
        auto run = graph.start(cluster);
        while (sink.arrived < 100) std::this_thread::sleep_for(1ms);
        if (stopped) run.stop();
    }
}

TEST(Cluster, a_source_on_a_node_ends_when_the_run_is_closed) {
    Cluster cluster(small(1));
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {.nodes = "workers"}, 1'000'000'000);
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, sink.in);
    auto run = graph.start(cluster);
    while (sink.arrived < 100) std::this_thread::sleep_for(1ms);
    run.close();
    run.finish();
    EXPECT_EQ(sink.got, numbers(static_cast<std::int64_t>(sink.got.size())));
}

struct Tell {
    Input<std::int64_t> in{"in"};
    Output<std::int64_t> out{"out"};
    EventOutput<std::int64_t> tenth{"tenth"};
    void operator()() {
        auto buffer = in.read();
        if (buffer[0] % 10 == 0) tenth.send(buffer[0]);
        out.write(std::move(buffer));
    }
};
struct Hear {
    Input<std::int64_t> in{"in"};
    Output<std::int64_t> out{"out"};
    std::int64_t heard = 0;
    void operator()() { (void)in.read(); }
    void on_event(const Event& event) { heard += event.name == "round" ? 1 : 1'000; }
    void finish() {
        auto buffer = out.make(1);
        buffer.edit()[0] = heard;
        out.write(std::move(buffer));
    }
};

TEST(Cluster, events_of_filters_on_nodes_reach_filters_everywhere_and_the_program) {
    Cluster cluster(small(2));
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 100);
    auto& tell = graph.add<Tell>("tell", {.events = {{"tenth", "round"}}, .nodes = "workers"});
    auto& here = graph.add<Hear>("here");
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, tell.in);
    graph.connect(tell.out, here.in);
    graph.connect(here.out, sink.in);
    std::atomic<int> listened{0};
    auto run = graph.start(cluster);
    run.listen([&](const Event& event) {
        listened += event.name == "round" ? 1 : 1'000;
        return true;
    });
    run.finish();
    EXPECT_EQ(sink.got, std::vector<std::int64_t>{10});
    EXPECT_LE(listened, 10);
}

TEST(Cluster, classes_of_targets_are_refused_for_nodes) {
    Cluster cluster(small(1));
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 10);
    auto& add = graph.add<Add>("add", {.target_classes = {"fast"}, .nodes = "workers"}, 0);
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, add.in);
    graph.connect(add.out, sink.in);
    EXPECT_THROW((void)graph.start(cluster), GraphError);
}

TEST(Cluster, what_an_agent_prints_comes_to_the_program) {
    std::mutex lock;
    std::vector<std::string> lines;
    auto options = small(1);
    options.log = [&](const std::string& line) {
        const std::lock_guard guard(lock);
        lines.push_back(line);
    };
    struct Says {
        Input<std::int64_t> in{"in"};
        void operator()() { std::printf("got %ld\n", static_cast<long>(in.read()[0])); }
    };
    {
        Cluster cluster(options);
        Graph graph;
        auto& source = graph.add<Numbers>("numbers", {}, 2);
        auto& sink = graph.add<Says>("says", {.nodes = "workers"});
        graph.connect(source.out, sink.in);
        auto run = graph.start(cluster);
        run.finish();
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"[workers.0] got 0", "[workers.0] got 1"}));
}

/// Reads both inputs in turn; nothing comes by the second.
struct Both {
    Input<std::int64_t> a{"a"}, b{"b"};
    void operator()() { a.read(), b.read(); }
};
struct Silent {
    Input<std::int64_t> in{"in"};
    Output<std::int64_t> out{"out"};
    void operator()() { (void)in.read(); }
};

TEST(Cluster, a_graph_that_stands_still_on_all_nodes_is_reported) {
    // `both` reads nothing for want of a second buffer, so the first stream fills, and `numbers` waits for ever.
    Cluster cluster(small(1));
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {.nodes = "workers"}, 100'000);
    auto& silent = graph.add<Silent>("silent", {.nodes = "workers"});
    auto& both = graph.add<Both>("both");
    graph.connect(source.out, both.a);
    graph.connect(source.out, silent.in);
    graph.connect(silent.out, both.b);
    auto run = graph.start(cluster);
    try {
        run.finish();
        ADD_FAILURE();
    } catch (const StreamStalled& stall) {
        EXPECT_NE(std::string(stall.what()).find("on node 'workers.0'"), std::string::npos) << stall.what();
        EXPECT_NE(std::string(stall.what()).find("'numbers' waits for room"), std::string::npos) << stall.what();
    }
}

TEST(Cluster, a_program_that_is_nowhere_is_named_and_one_in_the_path_is_found) {
    auto options = small(1);
    options.agent = {"no-such-program-anywhere"};
    EXPECT_THROW(Cluster{options}, UsageError);
    options.agent = {"env", std::filesystem::read_symlink("/proc/self/exe").string()};
    EXPECT_EQ(Cluster{options}.agents().size(), 1u);
}

TEST(Cluster, a_program_that_is_no_agent_is_named) {
    auto options = small(1);
    options.agent = {"/bin/false"};
    try {
        Cluster cluster(options);
        ADD_FAILURE();
    } catch (const NodeDied& died) {
        EXPECT_EQ(died.node(), "workers.0");
        EXPECT_NE(std::string(died.what()).find("exit code 1"), std::string::npos) << died.what();
    }
}

}  // namespace
