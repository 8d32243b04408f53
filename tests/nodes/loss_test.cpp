// Nodes that die, stand still, or cannot be reached.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "nodes/chain.hpp"
#include "nodes/engine_once.hpp"
#include "penstock/run.hpp"
#include "sanitizers.hpp"

namespace {

using namespace filters;
using namespace std::chrono_literals;

TEST(NodeLoss, with_replay_nothing_is_lost_repeated_or_reordered) {
    for (const bool ordered : {false, true}) {
        Cluster cluster(workers(2));
        WorkChain chain(OnNodeLoss::replay, ordered, 4'000);
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

TEST(NodeLoss, a_buffer_that_ends_its_nodes_is_dropped_and_named) {
    auto options = workers(1);
    options.deaths_of_a_buffer = 2;
    Cluster cluster(options);
    WorkChain chain(OnNodeLoss::replay, true, 500, {.copies = 2, .micros = 0, .deadly = 250});
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
    auto options = workers(1);
    options.spares = 1;
    Cluster cluster(options);
    WorkChain chain(OnNodeLoss::replay, true, 3'000, {.copies = 2});
    auto run = chain.graph.start(cluster);
    for (int turn = 1; turn <= 2; ++turn) {
        chain.wait_for(static_cast<std::size_t>(500 * turn));
        hit(cluster, "workers.0", SIGKILL);
    }
    run.finish();
    EXPECT_EQ(chain.sink->got, numbers(3'000));
}

TEST(NodeLoss, a_node_that_stands_still_for_ten_seconds_loses_nothing) {
    Cluster cluster(workers(2));
    WorkChain chain(OnNodeLoss::stop, true, 3'000);
    auto run = chain.graph.start(cluster);
    chain.wait_for(300);
    hit(cluster, "workers.0", SIGSTOP);
    std::this_thread::sleep_for(10s);
    hit(cluster, "workers.0", SIGCONT);
    run.finish();
    EXPECT_EQ(chain.sink->got, numbers(3'000));
}

TEST(NodeLoss, a_node_that_dies_between_runs_is_replaced) {
    Cluster cluster(workers(1));
    hit(cluster, "workers.0", SIGKILL);
    while (cluster.replaced() == 0) std::this_thread::sleep_for(1ms);
    WorkChain chain(OnNodeLoss::stop, true, 100);
    auto run = chain.graph.start(cluster);
    run.finish();
    EXPECT_EQ(chain.sink->got, numbers(100));
}

/// Two workers, and spares; none is started in a dead one's place.
ClusterOptions started_once(std::shared_ptr<EngineOnce> engine, int spares) {
    auto options = workers(2);
    options.own_engine = std::move(engine);
    options.listen = "unix";
    options.patience = 2s;
    options.spares = spares;
    return options;
}

TEST(NodeLoss, a_spare_that_dies_when_it_is_to_become_a_node_does_not_use_that_up) {
    for (const int signal : {SIGKILL, SIGSTOP}) {
        const auto engine = std::make_shared<EngineOnce>(false);
        auto options = started_once(engine, 2);
        Cluster cluster(options);
        int handed_over = 0;
        engine->at_hand_over = [&, processes = processes_of(cluster)](const std::string& spare) {
            if (handed_over++ == 0) kill(processes.at(spare), signal);
        };
        WorkChain chain(OnNodeLoss::replay, true, 2'000);
        auto run = chain.graph.start(cluster);
        chain.wait_for(100);
        hit(cluster, "workers.0", SIGKILL);
        EXPECT_NO_THROW(run.finish());
        EXPECT_EQ(chain.sink->got, numbers(2'000));
        EXPECT_EQ(handed_over, 2);
        EXPECT_EQ(cluster.replaced(), 1u);
    }
}

// Before its wire is known to be lost, and behind that.
TEST(NodeLoss, when_the_last_spare_dies_so_the_run_ends_at_once_with_what_is_missing) {
    for (const auto known_for : {0s, 4s}) {
        const auto engine = std::make_shared<EngineOnce>(false);
        auto options = started_once(engine, 1);
        options.time_to_start = 600s;
        Cluster cluster(options);
        engine->at_hand_over = [known_for, processes = processes_of(cluster)](const std::string& spare) {
            kill(processes.at(spare), SIGKILL);
            std::this_thread::sleep_for(known_for);
        };
        WorkChain chain(OnNodeLoss::replay, true, 1'000'000);
        auto run = chain.graph.start(cluster);
        chain.wait_for(100);
        hit(cluster, "workers.0", SIGKILL);
        try {
            run.finish();
            ADD_FAILURE();
        } catch (const NodeDied& died) {
            EXPECT_EQ(died.node(), "workers.0");
            EXPECT_NE(std::string(died.what()).find("there is no other"), std::string::npos) << died.what();
        }
    }
}

TEST(NodeLoss, kills_at_random_moments_lose_nothing) {
    const int kills = penstock_tests::sanitized ? 40 : 300;
    auto options = workers(3);
    options.spares = 1;
    Cluster cluster(options);
    std::mt19937 random(3);
    int killed = 0;
    while (killed < kills) {
        const bool ordered = random() % 2 == 0;
        const auto policy = policies[random() % std::size(policies)];
        WorkChain chain(OnNodeLoss::replay, ordered, 3'000, {.copies = 3, .micros = 300, .policy = policy});
        auto run = chain.graph.start(cluster);
        std::atomic<bool> over{false};
        std::thread killer([&] {
            std::mt19937 own(random());
            while (!over && killed < kills) {
                std::this_thread::sleep_for(std::chrono::milliseconds(own() % 120));
                killed += hit(cluster, "workers." + std::to_string(own() % 3), SIGKILL) ? 1 : 0;
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
