// Each fault, under each way to meet the loss of a node, over streams in order and not, and of each policy.
#include <gtest/gtest.h>

#include <algorithm>

#include "nodes/chain.hpp"
#include "nodes/cluster_state.hpp"
#include "penstock/run.hpp"

namespace {

using namespace filters;
using namespace std::chrono_literals;

enum class Fault { killed, stands_still, stands_still_too_long, cut };
constexpr const char* fault_names[] = {"killed", "stands_still", "stands_still_too_long", "cut"};
constexpr const char* loss_names[] = {"stop", "lose", "replay"};
constexpr const char* policy_names[] = {"demand_driven", "round_robin", "random", "broadcast", "by_key", "chosen"};

using Case = std::tuple<Fault, OnNodeLoss, bool, Policy>;

std::string name_of(const testing::TestParamInfo<Case>& each) {
    const auto& [fault, loss, ordered, policy] = each.param;
    return std::string(fault_names[static_cast<int>(fault)]) + "_" + loss_names[static_cast<int>(loss)] +
           (ordered ? "_ordered_" : "_unordered_") + policy_names[static_cast<int>(policy)];
}

class Faults : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, Faults,
                         testing::Combine(testing::Values(Fault::killed, Fault::stands_still,
                                                          Fault::stands_still_too_long, Fault::cut),
                                          testing::Values(OnNodeLoss::stop, OnNodeLoss::lose, OnNodeLoss::replay),
                                          testing::Bool(), testing::ValuesIn(policies)),
                         name_of);

TEST_P(Faults, cost_what_is_promised_and_no_more) {
    const auto [fault, loss, ordered, policy] = GetParam();
    constexpr std::int64_t count = 1'000;
    auto options = workers(2);
    if (fault == Fault::stands_still_too_long) options.patience = 600ms;
    Cluster cluster(options);
    WorkChain chain(loss, ordered, count, {.copies = 2, .micros = 300, .policy = policy});
    auto run = chain.graph.start(cluster);
    chain.wait_for(200);
    switch (fault) {
        case Fault::killed:
            hit(cluster, "workers.1", SIGKILL);
            break;
        case Fault::stands_still:
            hit(cluster, "workers.1", SIGSTOP);
            std::this_thread::sleep_for(200ms);
            hit(cluster, "workers.1", SIGCONT);
            break;
        case Fault::stands_still_too_long:
            hit(cluster, "workers.1", SIGSTOP);
            break;
        case Fault::cut:
            for (int i = 0; i < 20; ++i) {
                for (const unsigned site : {1u, 2u}) cluster.state().endpoint.cut(site);
                std::this_thread::sleep_for(5ms);
            }
            break;
    }
    const bool dies = fault == Fault::killed || fault == Fault::stands_still_too_long;
    if (dies && loss == OnNodeLoss::stop) {
        try {
            run.finish();
            ADD_FAILURE();
        } catch (const NodeDied& died) {
            EXPECT_EQ(died.node(), "workers.1");
            EXPECT_EQ(died.filters(), std::vector<std::string>{"add"});
            EXPECT_TRUE(died.buffers() > 0 || policy != Policy::demand_driven);  // others may have waited elsewhere
        }
        return;
    }
    run.finish();
    auto got = chain.sink->got;
    EXPECT_TRUE(!ordered || std::ranges::is_sorted(got));
    for (const auto& lost : run.lost()) {
        EXPECT_EQ(lost.filter, "add");
        got.push_back(static_cast<std::int64_t>(lost.sequence));
    }
    const bool may_lose = dies && loss == OnNodeLoss::lose;
    EXPECT_TRUE(run.lost().empty() ? !may_lose || policy != Policy::demand_driven : may_lose);
    EXPECT_EQ(cluster.replaced(), dies ? 1u : 0u);
    std::ranges::sort(got);
    EXPECT_EQ(got, numbers(count));
}

}  // namespace
