#include "apps/team.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "apps/placement.hpp"
#include "penstock/error.hpp"
#include "penstock/machine.hpp"
#include "penstock/topology.hpp"

namespace {

using penstock::apps::Range;
using penstock::apps::Team;

class TeamOf : public testing::TestWithParam<int> {};

TEST_P(TeamOf, runs_the_body_once_on_every_rank) {
    Team team{GetParam()};
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(team.size()));
    for (int repetition = 1; repetition <= 3; ++repetition) {
        EXPECT_GE(team.run([&](int rank) { ++runs[static_cast<std::size_t>(rank)]; }), 0.0);
        for (const auto& count : runs) EXPECT_EQ(count, repetition);
    }
}

TEST_P(TeamOf, nobody_leaves_a_barrier_before_all_have_come) {
    Team team{GetParam()};
    constexpr int rounds = 50;
    std::atomic<int> arrivals{0};
    std::atomic<int> early{0};
    team.run([&](int rank) {
        for (int round = 1; round <= rounds; ++round) {
            arrivals.fetch_add(1, std::memory_order_relaxed);
            team.barrier(rank);
            if (arrivals.load(std::memory_order_relaxed) != round * team.size()) ++early;
            team.barrier(rank);
        }
    });
    EXPECT_EQ(early, 0);
}

TEST_P(TeamOf, the_shares_cover_everything_once_and_differ_by_one_at_most) {
    const Team team{GetParam()};
    for (const std::size_t count : {0u, 1u, 2u, 7u, 100u}) {
        std::size_t next = 0;
        for (int rank = 0; rank < team.size(); ++rank) {
            const Range range = team.share(rank, count);
            EXPECT_EQ(range.begin, next);
            EXPECT_LE(range.end - range.begin, count / static_cast<std::size_t>(team.size()) + 1);
            next = range.end;
        }
        EXPECT_EQ(next, count);
    }
}

INSTANTIATE_TEST_SUITE_P(threads, TeamOf, testing::Values(1, 2, 3, 5));

TEST(Team, of_nobody_is_refused) {
    EXPECT_THROW(Team{0}, penstock::UsageError);
    EXPECT_THROW(Team{std::vector<int>{}}, penstock::UsageError);
}

TEST(Team, each_thread_runs_on_the_processor_that_it_was_given) {
    std::vector<int> processors;
    for (const auto& processor : penstock::Topology::here().processors()) {
        if (processors.size() < 2) processors.insert(processors.begin(), processor.index);
    }
    Team team{processors};
    std::vector<int> seen(processors.size(), Team::anywhere);
    team.run([&](int rank) { seen[static_cast<std::size_t>(rank)] = penstock::current_processor(); });
    EXPECT_EQ(seen, processors);
}

TEST(Placement, by_hand_threads_stand_where_the_machines_workers_do) {
    penstock::Machine machine;
    const std::vector<int> processors = penstock::apps::processors_of(machine);
    ASSERT_EQ(processors.size(), static_cast<std::size_t>(machine.targets()) + 1);
    std::vector<int> distinct = processors;
    std::sort(distinct.begin(), distinct.end());
    EXPECT_EQ(std::unique(distinct.begin(), distinct.end()), distinct.end());
}

}  // namespace
