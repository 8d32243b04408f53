// Ranks whose neighbours are gone, or have died, do not wait for them.
#include <array>
#include <atomic>
#include <thread>

#include "penstock/spmd.hpp"
#include "tests/store/support.hpp"

namespace {

using namespace store_tests;
using std::chrono::steady_clock;

class RankLossTest : public TeamTest {};

TEST_P(RankLossTest, a_wait_for_a_rank_that_has_come_to_its_end_is_refused) {
    Blackboard<std::atomic<int>> refused;
    run(2, [&](Rank me) {
        if (me.index() == 1) return;
        try {
            me.wait([] { return false; }, penstock::Awaited::rank(1));
        } catch (const penstock::RankLeft& left) {
            require(left.rank() == 1 && !left.failed(), "the rank is named");
            ++*refused;
        }
        try {
            me.wait([] { return false; }, penstock::Awaited::anybody());
        } catch (const penstock::RankLeft&) {
            ++*refused;
        }
    });
    EXPECT_EQ(*refused, 2);
}

TEST_P(RankLossTest, a_wait_for_anybody_goes_on_while_one_of_the_others_is_there) {
    Blackboard<std::atomic<int>> word;
    run(3, [&](Rank me) {
        if (me.index() == 1) return;
        if (me.index() == 2) {
            while (!me.gone(1)) std::this_thread::yield();
            std::this_thread::sleep_for(30ms);
            *word = 1;
            me.wake(0);
            return;
        }
        me.wait([&] { return *word == 1; }, penstock::Awaited::anybody());
    });
}

TEST_P(RankLossTest, what_was_published_before_the_end_is_seen_first) {
    Blackboard<std::atomic<int>> word;
    for (int i = 0; i < 50; ++i) {
        *word = 0;
        run(2, [&](Rank me) {
            if (me.index() == 1) *word = 1;
            else me.wait([&] { return *word == 1; }, penstock::Awaited::rank(1));
        });
    }
}

TEST_P(RankLossTest, a_rank_that_is_alone_does_not_wait_for_others) {
    run(1, [](Rank me) {
        try {
            me.wait([] { return false; }, penstock::Awaited::anybody());
        } catch (const penstock::WouldDeadlock&) {
            return;
        }
        require(false, "the wait is refused");
    });
}

TEST_P(RankLossTest, a_wait_with_a_limit_gives_up) {
    run(2, [](Rank me) {
        Blackboard<std::atomic<int>> nothing;
        if (me.index() == 0) {
            const auto begin = steady_clock::now();
            require(!me.wait_for([] { return false; }, penstock::Awaited::rank(0), 30ms), "it says that it gave up");
            require(steady_clock::now() - begin >= 30ms, "not before the limit");
        }
    });
}

TEST(RankLoss, the_death_of_a_rank_reaches_all_that_wait_for_it_within_a_second) {
    SKIP_UNDER_THREAD_SANITIZER();
    struct Seen {
        std::atomic<std::int64_t> killed;
        std::array<std::atomic<std::int64_t>, 4> told;
    };
    Blackboard<Seen> seen;
    const auto now = [] { return steady_clock::now().time_since_epoch().count(); };
    const auto program = [&](Rank me) {
        if (me.index() == 3) {
            std::this_thread::sleep_for(50ms);
            seen->killed = now();
            raise(SIGKILL);
        }
        try {
            me.wait([] { return false; }, me.index() == 0   ? penstock::Awaited::rank(3)
                                          : me.index() == 1 ? penstock::Awaited::anybody()
                                                            : penstock::Awaited::everybody());
        } catch (const penstock::RankDied& died) {
            require(died.rank() == 3 && died.signal() == SIGKILL, "the dead rank is named");
            require(me.dead(3), "it counts as dead");
            seen->told[static_cast<std::size_t>(me.index())] = now();
        }
        // Whoever left first would end the others' wait as well.
        for (int rank = 0; rank < 3; ++rank)
            require(me.wait_for([&] { return seen->told[static_cast<std::size_t>(rank)] != 0; },
                                penstock::Awaited::rank(me.index()), 10s),
                    "all are told");
    };
    EXPECT_THROW(penstock::spmd(4, program, {.substrate = Substrate::processes}), penstock::RankDied);
    for (int rank = 0; rank < 3; ++rank)
        EXPECT_LT(std::chrono::nanoseconds(seen->told[static_cast<std::size_t>(rank)] - seen->killed), 1s) << rank;
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(RankLossTest);

}  // namespace
