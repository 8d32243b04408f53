// Nodes in network namespaces of their own, as machines beside one another: partitions that heal and that do not, old
// agents that come back, a node that is slower than the others. Skipped where there are no namespaces to be had.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>

#include "nodes/chain.hpp"
#include "nodes/elsewhere.hpp"
#include "penstock/run.hpp"

namespace {

using namespace filters;
using namespace elsewhere;
using namespace std::chrono_literals;

ClusterOptions over(const Elsewhere& first, std::shared_ptr<Engine> engine, int nodes) {
    auto options = workers(nodes);
    options.own_engine = std::move(engine);
    options.listen = "tcp:" + first.here() + ":0";
    return options;
}

constexpr WorkOptions two{.copies = 2, .micros = 300};

class Networks : public testing::Test {
  protected:
    void SetUp() override {
        if (!one.usable() || !other.usable()) GTEST_SKIP() << "no network namespaces can be made here (they need root)";
    }
    std::vector<std::string> in_turn(const Node& node) const { return (node.site % 2 == 1 ? one : other).inside(); }
    Elsewhere one{1}, other{2};
};

TEST_F(Networks, a_graph_runs_over_two_machines) {
    Cluster cluster(over(one, std::make_shared<TestEngine>([&](const Node& node) { return in_turn(node); }), 2));
    WorkChain chain(OnNodeLoss::stop, true, 2'000, two);
    auto run = chain.graph.start(cluster);
    run.finish();
    EXPECT_EQ(chain.sink->got, numbers(2'000));
}

enum class Fault { parted, parted_for_good, slow };
constexpr const char* fault_names[] = {"parted", "parted_for_good", "slow"};
constexpr const char* loss_names[] = {"stop", "lose", "replay"};

using Case = std::tuple<Fault, OnNodeLoss, bool>;

std::string name_of(const testing::TestParamInfo<Case>& each) {
    const auto& [fault, loss, ordered] = each.param;
    return std::string(fault_names[static_cast<int>(fault)]) + "_" + loss_names[static_cast<int>(loss)] +
           (ordered ? "_ordered" : "_unordered");
}

class NetworkFaults : public Networks, public testing::WithParamInterface<Case> {};
INSTANTIATE_TEST_SUITE_P(All, NetworkFaults,
                         testing::Combine(testing::Values(Fault::parted, Fault::parted_for_good, Fault::slow),
                                          testing::Values(OnNodeLoss::stop, OnNodeLoss::lose, OnNodeLoss::replay),
                                          testing::Bool()),
                         name_of);

TEST_P(NetworkFaults, cost_what_is_promised_and_no_more) {
    const auto [fault, loss, ordered] = GetParam();
    constexpr std::int64_t count = 1'000;
    // A next generation runs beside the first node, where the network works.
    const auto engine = std::make_shared<TestEngine>(
        [&](const Node& node) { return node.generation > 1 ? one.inside() : in_turn(node); });
    if (fault == Fault::slow && !other.slow_down("1mbit")) GTEST_SKIP() << "no link can be slowed down here (tc)";
    auto options = over(one, engine, 2);
    options.patience = fault == Fault::parted_for_good ? 700ms : 10s;
    Cluster cluster(options);
    WorkChain chain(loss, ordered, count, {.copies = 2, .micros = fault == Fault::slow ? 0 : 300});
    auto run = chain.graph.start(cluster);
    chain.wait_for(100);
    if (fault != Fault::slow) other.cut();
    if (fault == Fault::parted) {
        std::this_thread::sleep_for(700ms);
        other.heal();
    }
    const bool dies = fault == Fault::parted_for_good;
    if (dies && loss == OnNodeLoss::stop) {
        try {
            run.finish();
            ADD_FAILURE();
        } catch (const NodeDied& died) {
            EXPECT_EQ(died.node(), "workers.1");
        }
        return;
    }
    run.finish();
    auto got = chain.sink->got;
    EXPECT_TRUE(!ordered || std::ranges::is_sorted(got));
    for (const auto& lost : run.lost()) got.push_back(static_cast<std::int64_t>(lost.sequence));
    EXPECT_EQ(!run.lost().empty(), dies && loss == OnNodeLoss::lose);
    EXPECT_EQ(cluster.replaced(), dies ? 1u : 0u);
    std::ranges::sort(got);
    EXPECT_EQ(got, numbers(count));
}

TEST_F(Networks, an_agent_behind_a_partition_is_replaced_and_kept_out_when_it_heals) {
    // Its next generation runs beside the first node, where the network works.
    const auto engine = std::make_shared<TestEngine>(
        [&](const Node& node) { return node.generation > 1 ? one.inside() : in_turn(node); });
    auto options = over(one, engine, 2);
    options.patience = 1s;
    {
        Cluster cluster(options);
        WorkChain chain(OnNodeLoss::replay, true, 3'000, two);
        auto run = chain.graph.start(cluster);
        chain.wait_for(300);
        other.cut();
        run.finish();
        EXPECT_EQ(chain.sink->got, numbers(3'000));
        EXPECT_EQ(cluster.replaced(), 1u);
        other.heal();
        // The old agent has given up by itself meanwhile, or is told that it does not belong there any more.
        const auto until = std::chrono::steady_clock::now() + 10s;
        const auto ended = [&] {
            const std::lock_guard guard(engine->lock_);
            return std::ranges::any_of(engine->exit_codes, [](int code) { return code == 3 || code == 4; });
        };
        while (!ended() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(10ms);
        EXPECT_TRUE(ended());
    }
}

struct AsFastAsItsNode {
    static constexpr bool may_be_copied = true;
    Input<std::int64_t> in{"in"};
    Output<std::int64_t> out{"out"};
    void operator()() {
        auto buffer = in.read();
        const char* const slow = std::getenv("PENSTOCK_TEST_SLOW");
        std::this_thread::sleep_for(slow != nullptr ? 5ms : 500us);
        buffer.edit()[0] = slow != nullptr;
        out.write(std::move(buffer));
    }
};

TEST(SlowNodes, a_slow_node_gets_less_where_demand_drives) {
    const auto engine = std::make_shared<TestEngine>([](const Node& node) {
        return node.site == 1 ? std::vector<std::string>{"env", "PENSTOCK_TEST_SLOW=1"}
                              : std::vector<std::string>{"env"};
    });
    auto options = workers(2);
    options.own_engine = engine;
    options.listen = "unix";
    Cluster cluster(options);
    Graph graph;
    auto& source = graph.add<Numbers>("numbers", {}, 1'000);
    auto& work = graph.add<AsFastAsItsNode>("work", {.copies = 2, .nodes = "workers"});
    auto& sink = graph.add<Collect>("collect");
    graph.connect(source.out, work.in, {.capacity = 2});
    graph.connect(work.out, sink.in);
    auto run = graph.start(cluster);
    run.finish();
    const auto by_slow = std::ranges::count(sink.got, 1);
    EXPECT_EQ(sink.got.size(), 1'000u);
    EXPECT_LT(by_slow, 350);
    EXPECT_GT(by_slow, 0);
}

}  // namespace
