// Placement by a profile: which filters go, what binds, and a graph that is profiled, placed and run.
#include <gtest/gtest.h>

#include <functional>

#include "nodes/filters.hpp"
#include "penstock/application_profile.hpp"
#include "penstock/cluster.hpp"
#include "penstock/components.hpp"
#include "penstock/run.hpp"

namespace {

using namespace filters;

ClusterOptions groups(std::vector<Nodes> nodes) {
    ClusterOptions options;
    options.nodes = std::move(nodes);
    options.machine.targets = 1;
    options.node_machine.targets = 1;
    return options;
}

/// numbers -> first -> second -> third -> collect, whose three in the middle the runtime may place.
struct FreeChain {
    Graph graph;
    Collect* sink = nullptr;
    explicit FreeChain(std::int64_t count = 200, FilterOptions options = {.nodes = "auto"}) {
        auto& source = graph.add<Numbers>("numbers", {}, count);
        auto& first = graph.add<Add>("first", options, 1);
        auto& second = graph.add<Add>("second", options, 10);
        auto& third = graph.add<Add>("third", options, 100);
        sink = &graph.add<Collect>("collect");
        graph.connect(source.out, first.in);
        graph.connect(first.out, second.in);
        graph.connect(second.out, third.in);
        graph.connect(third.out, sink->in, {.ordered = true});
    }
};

/// As from a run of a second: service times in ms of a thousand firings, and bytes a second of the four streams.
RunStatistics figures(std::vector<double> work, std::vector<double> bytes) {
    const char* const names[] = {"numbers", "first", "second", "third", "collect"};
    RunStatistics made;
    made.seconds = 1;
    for (std::size_t i = 0; i < 5; ++i) {
        FilterStatistics filter;
        filter.name = names[i];
        filter.copies = 1;
        filter.firings = 1'000;
        filter.service_us = work[i] * 1'000;
        made.filters.push_back(filter);
        if (i == 4) break;
        StreamStatistics stream;
        stream.from = std::string(names[i]) + ".out";
        stream.to = std::string(names[i + 1]) + ".in";
        stream.buffers = 1'000;
        stream.bytes_rate = bytes[i];
        stream.capacity = 8;
        made.streams.push_back(stream);
    }
    return made;
}

std::string nodes_of(const Assignment& assignment) {
    std::string all;
    for (const auto& place : assignment.filters)
        all += (all.empty() ? "" : " ") + (place.nodes.empty() ? "-" : place.nodes);
    return all;
}

TEST(Placing, the_stream_with_the_fewest_bytes_is_cut) {
    // Two processors here (a target and the thread that waits), two there: half of the work for each.
    Cluster cluster(groups({{"there", 1}}));
    FreeChain chain;
    const auto wide_end = cluster.place(chain.graph, figures({0, 1, 0.5, 0.5, 0}, {9, 5, 1e6, 7}), {.balance = 1});
    EXPECT_EQ(nodes_of(wide_end), "- - there there -") << wide_end.text();
    EXPECT_TRUE(wide_end.best);
    const auto cheap_end = cluster.place(chain.graph, figures({0, 0.5, 0.5, 1, 0}, {9e6, 5e5, 10, 7}), {.balance = 1});
    EXPECT_EQ(nodes_of(cheap_end), "- - - there -") << cheap_end.text();
    EXPECT_EQ(cheap_end.bytes_rate, 17);
    EXPECT_NEAR(cheap_end.balance, 1, 1e-9);
    EXPECT_EQ(cheap_end.text(),
              "program: numbers, first, second, collect (1.00 of its share)\n"
              "there: third (1.00 of its share)\n"
              "cut: second.out -> third.in, 10.0 bytes a second\n"
              "cut: third.out -> collect.in, 7.00 bytes a second\n"
              "between nodes: 17.0 bytes a second, and fewer cannot be had\n");
    EXPECT_EQ(cheap_end.filters[0].why, "it has no `nodes`");
    EXPECT_EQ(cheap_end.filters[3].why, "");
    EXPECT_NEAR(cheap_end.filters[3].load, 1, 1e-9);
}

TEST(Placing, processors_of_groups_count_and_filters_with_nodes_stay_there) {
    Cluster cluster(groups({{"small", 1, {.cpus = 1}}, {"large", 1, {.cpus = 6}}}));
    FreeChain chain;
    const auto made = cluster.place(chain.graph, figures({0, 6, 1, 1, 0}, {1, 1, 1, 1}), {.program_cpus = 1});
    EXPECT_EQ(made.filters[1].nodes, "large") << made.text();
    EXPECT_NEAR(made.balance, 1, 1e-9) << made.text();
    EXPECT_EQ(made.shares[2].cpus, 6);

    FreeChain fixed(200, {.nodes = "small"});
    const auto stays = cluster.place(fixed.graph, figures({0, 6, 1, 1, 0}, {1, 1, 1, 1}));
    EXPECT_EQ(nodes_of(stays), "- small small small -");
    EXPECT_EQ(stays.filters[1].why, "its `nodes` says so");
}

TEST(Placing, copies_that_do_not_divide_among_nodes_count_as_the_busiest_node_has_them) {
    Cluster cluster(groups({{"pair", 2, {.cpus = 1}}}));
    FreeChain one_copy;  // the second node of the pair would have nothing to do
    const auto alone = cluster.place(one_copy.graph, figures({0, 1, 0, 0, 0}, {1, 1, 1, 1}), {.program_cpus = 1});
    EXPECT_NEAR(alone.balance, 3, 1e-9) << alone.text();
    FreeChain two_copies(200, {.copies = 2, .nodes = "auto"});
    const auto both = cluster.place(two_copies.graph, figures({0, 1, 0, 0, 0}, {1, 1, 1, 1}), {.program_cpus = 1});
    EXPECT_EQ(both.filters[1].nodes, "pair");
    EXPECT_NEAR(both.balance, 1.5, 1e-9) << both.text();
}

TEST(Placing, a_balance_that_cannot_be_had_is_refused_with_the_one_that_can) {
    Cluster cluster(groups({{"there", 1}}));
    FreeChain chain;
    try {
        (void)cluster.place(chain.graph, figures({0, 3, 0.5, 0.5, 0}, {1, 1, 1, 1}), {.balance = 1.25});
        ADD_FAILURE();
    } catch (const NoPlacement& refused) {
        EXPECT_EQ(refused.bound(), NoPlacement::Bound::balance);
        EXPECT_NEAR(refused.least(), 1.5, 1e-9);
        EXPECT_NE(std::string(refused.what()).find("the least is 1.50"), std::string::npos) << refused.what();
        EXPECT_NE(std::string(refused.what()).find("with 'first'"), std::string::npos) << refused.what();
    }
    EXPECT_NEAR(cluster.place(chain.graph, figures({0, 3, 0.5, 0.5, 0}, {1, 1, 1, 1}), {.balance = 1.5}).balance, 1.5,
                1e-9);
}

TEST(Placing, memory_that_is_not_enough_is_refused_by_name) {
    Cluster cluster(groups({{"there", 1, {.memory = 1'000}}}));
    FreeChain chain(200, {.nodes = "there"});
    // 8 buffers of 1 kB may wait at each.
    try {
        (void)cluster.place(chain.graph, figures({0, 1, 1, 1, 0}, {1e6, 1e6, 1e6, 1e6}));
        ADD_FAILURE();
    } catch (const NoPlacement& refused) {
        EXPECT_EQ(refused.bound(), NoPlacement::Bound::memory);
        EXPECT_NE(std::string(refused.what()).find("'there' (24.0 kB, and a node has 1.00 kB)"), std::string::npos)
            << refused.what();
    }
    FreeChain free;
    EXPECT_EQ(nodes_of(cluster.place(free.graph, figures({0, 1, 1, 1, 0}, {1e6, 1e6, 1e6, 1e6}))), "- - - - -");
}

TEST(Placing, filters_that_outlive_their_node_are_kept_away_from_their_neighbours) {
    const FilterOptions lasting{.copies = 2, .nodes = "auto", .on_node_loss = OnNodeLoss::replay};
    FreeChain chain(200, lasting);
    {
        Cluster cluster(groups({{"one", 2}, {"other", 2}}));
        const auto made = cluster.place(chain.graph, figures({0, 1, 1, 1, 0}, {1, 1, 1, 1}));
        EXPECT_TRUE(nodes_of(made) == "- one other one -" || nodes_of(made) == "- other one other -") << made.text();
    }
    Cluster cluster(groups({{"one", 2}}));
    try {
        (void)cluster.place(chain.graph, figures({0, 1, 1, 1, 0}, {1, 1, 1, 1}));
        ADD_FAILURE();
    } catch (const NoPlacement& refused) {
        EXPECT_EQ(refused.bound(), NoPlacement::Bound::rules);
        EXPECT_NE(std::string(refused.what()).find("on_node_loss"), std::string::npos) << refused.what();
    }
}

/// Its argument cannot travel.
struct Here {
    Input<std::int64_t> in{"in"};
    Output<std::int64_t> out{"out"};
    std::function<std::int64_t(std::int64_t)> change;
    explicit Here(std::function<std::int64_t(std::int64_t)> how) : change(std::move(how)) {}
    void operator()() {
        auto buffer = in.read();
        buffer.edit()[0] = change(buffer[0]);
        out.write(std::move(buffer));
    }
};
/// Sends what comes on, and drops what comes back.
struct Begin {
    static constexpr bool on_any_input = true;
    Input<std::int64_t> in{"in"}, back{"back"};
    Output<std::int64_t> out{"out"};
    void operator()() {
        while (auto buffer = back.read_if_any()) continue;
        if (auto buffer = in.read_if_any()) out.write(std::move(*buffer));
    }
};

TEST(Placing, a_cycle_goes_to_one_node_as_a_whole) {
    const auto described = [](Graph& graph) -> Collect& {
        auto& source = graph.add<Numbers>("numbers", {}, 100);
        auto& begin = graph.add<Begin>("first", {.nodes = "auto"});
        auto& second = graph.add<Add>("second", {.nodes = "auto"}, 1);
        auto& third = graph.add<Add>("third", {.nodes = "auto"}, 1);
        auto& sink = graph.add<Collect>("collect");
        graph.connect(source.out, begin.in);
        graph.connect(begin.out, second.in);
        graph.connect(second.out, third.in);
        graph.connect(third.out, sink.in);
        graph.connect(second.out, begin.back, {.feedback = true});
        return sink;
    };
    auto profile = figures({0, 1, 1, 2, 0}, {1, 1, 1'000, 1});
    profile.streams.push_back(profile.streams[0]);
    profile.streams.back().from = "second.out";
    profile.streams.back().to = "first.back";
    Cluster cluster(groups({{"pair", 2}}));
    Graph graph;
    auto& sink = described(graph);
    const auto made = cluster.place(graph, profile);
    EXPECT_EQ(made.filters[1].nodes, made.filters[2].nodes) << made.text();
    made.apply(graph);
    auto run = graph.start(cluster);  // which refuses a cycle over several nodes
    run.finish();
    EXPECT_EQ(sink.got, numbers(100, 2));
}

TEST(Placing, what_cannot_be_made_elsewhere_stays_and_what_is_near_goes_together) {
    Cluster cluster(groups({{"there", 1}}));
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {.nodes = "auto"}, 10);
    auto& here = graph.add<Here>("first", {.nodes = "auto"},
                                 std::function<std::int64_t(std::int64_t)>([](std::int64_t n) { return n; }));
    auto& second = graph.add<Add>("second", {.near = "third", .nodes = "auto"}, 1);
    auto& third = graph.add<Add>("third", {.nodes = "auto"}, 1);
    auto& sink = graph.add<Collect>("collect", {.nodes = "auto"});
    graph.connect(source.out, here.in);
    graph.connect(here.out, second.in);
    graph.connect(second.out, third.in);
    graph.connect(third.out, sink.in);
    // Apart, second and third would be even.
    const auto made = cluster.place(graph, figures({0, 0, 1, 1, 0}, {1, 1, 1, 1}));
    EXPECT_EQ(made.filters[1].nodes, "");
    EXPECT_NE(made.filters[1].why.find("it cannot be made elsewhere"), std::string::npos) << made.filters[1].why;
    EXPECT_EQ(made.filters[2].nodes, made.filters[3].nodes) << made.text();
}

TEST(Placing, what_is_wrong_with_a_profile_is_named) {
    Cluster cluster(groups({{"there", 1}}));
    FreeChain chain;
    auto of_another = figures({0, 1, 1, 1, 0}, {1, 1, 1, 1});
    of_another.filters[2].name = "else";
    of_another.streams[3].to = "else.in";
    try {
        (void)cluster.place(chain.graph, of_another);
        ADD_FAILURE();
    } catch (const GraphError& error) {
        ASSERT_EQ(error.problems().size(), 2u);
        EXPECT_NE(error.problems()[0].find("filter 'second'"), std::string::npos);
        EXPECT_NE(error.problems()[1].find("third.out -> collect.in"), std::string::npos);
    }
    EXPECT_THROW((void)cluster.place(chain.graph, figures({0, 0, 0, 0, 0}, {1, 1, 1, 1})), UsageError);
    EXPECT_THROW((void)cluster.place(chain.graph, "no profile"), UsageError);
    EXPECT_THROW((void)cluster.place(chain.graph, figures({0, 1, 1, 1, 0}, {1, 1, 1, 1}), {.balance = 0.5}),
                 UsageError);
    EXPECT_THROW((void)cluster.place(chain.graph, figures({0, 1, 1, 1, 0}, {1, 1, 1, 1}), {.program_cpus = -1}),
                 UsageError);
    Graph another;
    another.add<Numbers>("numbers", {}, 1);
    EXPECT_THROW(cluster.place(chain.graph, figures({0, 1, 1, 1, 0}, {1, 1, 1, 1})).apply(another), UsageError);
}

TEST(Placing, a_graph_with_filters_that_nobody_has_placed_does_not_start) {
    Cluster cluster(groups({{"there", 1}}));
    FreeChain chain;
    try {
        (void)chain.graph.start(cluster);
        ADD_FAILURE();
    } catch (const GraphError& error) {
        EXPECT_EQ(error.problems().size(), 3u);
        EXPECT_NE(error.problems()[0].find("RunOptions::profile"), std::string::npos) << error.problems()[0];
    }
    EXPECT_THROW(Cluster{groups({{"auto", 1}})}, UsageError);
}

TEST(Placing, a_graph_is_profiled_on_one_machine_placed_and_runs_the_same_on_nodes) {
    std::vector<std::int64_t> wanted;
    std::string profile;
    {
        Machine machine({.targets = 2});
        FreeChain chain(2'000);
        auto run = chain.graph.start(machine);
        run.finish();
        wanted = chain.sink->got;
        ApplicationProfile seen("chain", machine.targets());
        seen.look(run.statistics());
        profile = seen.text();
    }
    ASSERT_EQ(wanted, numbers(2'000, 111));
    Cluster cluster(groups({{"one", 1}, {"other", 2}}));
    FreeChain placed(2'000);
    const auto assignment = cluster.place(placed.graph, profile);
    assignment.apply(placed.graph);
    const auto split = cluster.split(placed.graph);
    ASSERT_EQ(split.cut.size(), assignment.cut.size()) << assignment.text() << split.text();
    for (std::size_t i = 0; i < split.cut.size(); ++i) EXPECT_EQ(split.cut[i].from, assignment.cut[i].from);
    auto run = placed.graph.start(cluster);
    run.finish();
    EXPECT_EQ(placed.sink->got, wanted);

    // The run over nodes is a profile, too, and start() places by one as place() does.
    FreeChain by_options;
    auto again = by_options.graph.start(cluster, {.profile = profile});
    again.finish();
    EXPECT_EQ(by_options.sink->got, numbers(200, 111));
    const auto from_nodes = cluster.place(by_options.graph, again.statistics());
    EXPECT_EQ(from_nodes.filters.size(), 5u);
    EXPECT_THROW(from_nodes.apply(placed.graph), UsageError);  // it runs, or has run
}

}  // namespace
