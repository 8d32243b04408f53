// Nodes that die, stand still, or cannot be reached.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>

#include "nodes/filters.hpp"
#include "penstock/cluster.hpp"
#include "penstock/run.hpp"

namespace {

using namespace filters;
using namespace std::chrono_literals;

ClusterOptions nodes(int count) {
    ClusterOptions options;
    options.nodes = {{"workers", count}};
    options.machine.targets = 1;
    options.node_machine.targets = 1;
    options.deaths_of_a_buffer = 1'000;
    options.log = [](const std::string&) {};
    return options;
}

/// numbers -> add (elsewhere) -> collect
struct Chain {
    Graph graph;
    Collect* sink = nullptr;

    Chain(OnNodeLoss loss, bool ordered, std::int64_t count, int copies = 4, int micros = 200,
          std::int64_t deadly = -1) {
        auto& source = graph.add<Numbers>("numbers", {}, count);
        auto& add = graph.add<Add>("add", {.copies = copies, .nodes = "workers", .on_node_loss = loss}, 0, micros,
                                   std::int64_t{-1}, deadly);
        sink = &graph.add<Collect>("collect");
        graph.connect(source.out, add.in);
        graph.connect(add.out, sink->in, {.ordered = ordered});
    }
    void wait_for(std::size_t arrived) const {
        while (sink->arrived < arrived) std::this_thread::sleep_for(1ms);
    }
};

void hit(const Cluster& cluster, const std::string& node, int signal) {
    for (const auto& agent : cluster.agents())
        if (agent.node == node) kill(agent.process, signal);
}

TEST(NodeLoss, a_death_stops_the_run_and_is_named) {
    for (const bool ordered : {false, true}) {
        Cluster cluster(nodes(2));
        Chain chain(OnNodeLoss::stop, ordered, 1'000'000);
        auto run = chain.graph.start(cluster);
        chain.wait_for(100);
        hit(cluster, "workers.1", SIGKILL);
        try {
            run.finish();
            ADD_FAILURE();
        } catch (const NodeDied& died) {
            EXPECT_EQ(died.node(), "workers.1");
            EXPECT_EQ(died.filters(), std::vector<std::string>{"add"});
            EXPECT_GT(died.buffers(), 0u);
        }
    }
}

TEST(NodeLoss, with_replay_nothing_is_lost_repeated_or_reordered) {
    for (const bool ordered : {false, true}) {
        Cluster cluster(nodes(2));
        Chain chain(OnNodeLoss::replay, ordered, 4'000);
        auto run = chain.graph.start(cluster);
        for (int turn = 1; turn <= 3; ++turn) {
            chain.wait_for(static_cast<std::size_t>(500 * turn));
            hit(cluster, turn % 2 == 0 ? "workers.0" : "workers.1", SIGKILL);
        }
        run.finish();
        if (!ordered) std::ranges::sort(chain.sink->got);
        EXPECT_EQ(chain.sink->got, numbers(4'000));
        EXPECT_TRUE(run.lost().empty());
        EXPECT_GE(cluster.replaced(), 1u);
    }
}

TEST(NodeLoss, with_lose_what_was_there_is_counted_and_named_and_the_rest_comes) {
    for (const bool ordered : {false, true}) {
        Cluster cluster(nodes(2));
        Chain chain(OnNodeLoss::lose, ordered, 4'000);
        auto run = chain.graph.start(cluster);
        chain.wait_for(500);
        hit(cluster, "workers.0", SIGKILL);
        run.finish();
        auto got = chain.sink->got;
        EXPECT_TRUE(!ordered || std::ranges::is_sorted(got));
        for (const auto& lost : run.lost()) {
            EXPECT_EQ(lost.filter, "add");
            got.push_back(static_cast<std::int64_t>(lost.sequence));
        }
        EXPECT_GT(run.lost().size(), 0u);
        std::ranges::sort(got);
        EXPECT_EQ(got, numbers(4'000));
    }
}

TEST(NodeLoss, a_buffer_that_ends_its_nodes_is_dropped_and_named) {
    auto options = nodes(1);
    options.deaths_of_a_buffer = 2;
    Cluster cluster(options);
    Chain chain(OnNodeLoss::replay, true, 500, 2, 0, 250);
    auto run = chain.graph.start(cluster);
    run.finish();
    auto wanted = numbers(500);
    wanted.erase(wanted.begin() + 250);
    EXPECT_EQ(chain.sink->got, wanted);
    ASSERT_EQ(run.lost().size(), 1u);
    EXPECT_EQ(run.lost()[0].sequence, 250u);
    EXPECT_EQ(cluster.replaced(), 2u);
}

TEST(NodeLoss, a_spare_takes_the_place_at_once) {
    auto options = nodes(1);
    options.spares = 1;
    Cluster cluster(options);
    Chain chain(OnNodeLoss::replay, true, 3'000, 2);
    auto run = chain.graph.start(cluster);
    for (int turn = 1; turn <= 2; ++turn) {
        chain.wait_for(static_cast<std::size_t>(500 * turn));
        hit(cluster, "workers.0", SIGKILL);
    }
    run.finish();
    EXPECT_EQ(chain.sink->got, numbers(3'000));
}

TEST(NodeLoss, a_node_that_stands_still_for_a_while_loses_nothing) {
    Cluster cluster(nodes(2));
    Chain chain(OnNodeLoss::stop, true, 3'000);
    auto run = chain.graph.start(cluster);
    chain.wait_for(300);
    hit(cluster, "workers.0", SIGSTOP);
    std::this_thread::sleep_for(std::getenv("PENSTOCK_LONG") != nullptr ? 10s : 1s);
    hit(cluster, "workers.0", SIGCONT);
    run.finish();
    EXPECT_EQ(chain.sink->got, numbers(3'000));
}

TEST(NodeLoss, a_node_that_stands_still_too_long_is_replaced_and_kept_out) {
    auto options = nodes(2);
    options.patience = 800ms;
    Cluster cluster(options);
    Chain chain(OnNodeLoss::replay, true, 3'000);
    auto run = chain.graph.start(cluster);
    chain.wait_for(300);
    hit(cluster, "workers.0", SIGSTOP);
    run.finish();
    EXPECT_EQ(chain.sink->got, numbers(3'000));
    EXPECT_GE(cluster.replaced(), 1u);
}

TEST(NodeLoss, a_node_that_dies_between_runs_is_replaced) {
    Cluster cluster(nodes(1));
    hit(cluster, "workers.0", SIGKILL);
    while (cluster.replaced() == 0) std::this_thread::sleep_for(1ms);
    Chain chain(OnNodeLoss::stop, true, 100);
    auto run = chain.graph.start(cluster);
    run.finish();
    EXPECT_EQ(chain.sink->got, numbers(100));
}

TEST(NodeLoss, kills_at_random_moments_lose_nothing) {
    const int kills = std::getenv("PENSTOCK_LONG") != nullptr ? 300 : 12;
    auto options = nodes(3);
    options.spares = 1;
    Cluster cluster(options);
    std::mt19937 random(3);
    int killed = 0;
    while (killed < kills) {
        const bool ordered = random() % 2 == 0;
        Chain chain(OnNodeLoss::replay, ordered, 3'000, 3, 300);
        auto run = chain.graph.start(cluster);
        std::atomic<bool> over{false};
        std::thread killer([&] {
            std::mt19937 own(random());
            while (!over && killed < kills) {
                std::this_thread::sleep_for(std::chrono::milliseconds(own() % 120));
                hit(cluster, "workers." + std::to_string(own() % 3), SIGKILL);
                ++killed;
            }
        });
        run.finish();
        over = true;
        killer.join();
        if (!ordered) std::ranges::sort(chain.sink->got);
        ASSERT_EQ(chain.sink->got, numbers(3'000)) << "after " << killed;
        ASSERT_TRUE(run.lost().empty());
    }
}

}  // namespace
