// What the tests of applications over ranks share: threads and processes from one source, and the nodes of a cluster.
#pragma once

#include <gtest/gtest.h>

#include "apps/ranks.hpp"
#include "penstock/cluster.hpp"
#include "tests/nodes/elsewhere.hpp"
#include "tests/teams.hpp"

namespace app_tests {

/// A test for each substrate.
class RanksTest : public penstock_tests::SubstrateTest {
  protected:
    static penstock::apps::RankOptions on(int ranks, int passes = 2) {
        return {.ranks = ranks, .substrate = GetParam(), .passes = passes};
    }
};

inline penstock::ClusterOptions two_nodes() {
    penstock::ClusterOptions options;
    options.nodes = {{"workers", 2}};
    options.machine.targets = options.node_machine.targets = 1;
    return options;
}

/// Runs a program in ranks on two nodes, which are processes of this machine. It throws where something is wrong.
template <class Program>
void on_two_nodes(int ranks, Program program) {
    penstock::Cluster cluster(two_nodes());
    penstock::spmd(ranks, program, {.pin = false, .cluster = &cluster});
}

/// The same on two nodes in network namespaces of their own; false where there are none to be had.
template <class Program>
bool over_a_network(int ranks, Program program) {
    elsewhere::Network network{2};
    if (!network.usable()) return false;
    auto options = two_nodes();
    options.listen = "tcp:" + network.here() + ":0";
    options.own_engine = std::make_shared<elsewhere::TestEngine>(
        [&](const penstock::Node& node) { return network.inside(static_cast<std::size_t>(node.site)); });
    penstock::Cluster cluster(options);
    penstock::spmd(ranks, program, {.pin = false, .cluster = &cluster});
    return true;
}

/// A test on this machine, and one over a network, of a program for some ranks.
#define TEST_OVER_NODES(Suite, ranks, program)                                               \
    TEST(Suite, has_the_same_bits_on_two_nodes) { app_tests::on_two_nodes(ranks, program); } \
    TEST(Suite, has_the_same_bits_over_a_network) {                                          \
        if (!app_tests::over_a_network(ranks, program))                                      \
            GTEST_SKIP() << "no network namespaces can be made here (they need root)";       \
    }

/// In ranks, whose expectations GoogleTest does not see.
inline void expect_in_rank(bool condition, const std::string& what) {
    if (!condition) throw penstock::Error(what);
}

}  // namespace app_tests
