// A team of ranks starts, ends and fails the same way with threads and with processes.
#include "penstock/spmd.hpp"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "tests/store/support.hpp"

namespace {

using namespace store_tests;

class SpmdTest : public TeamTest {};

TEST_P(SpmdTest, each_rank_runs_once_and_knows_its_place) {
    for (int size : {1, 2, 5, 16}) {
        Blackboard<std::array<std::atomic<int>, 16>> seen;
        run(size, [&](Rank me) {
            require(me.size() == size, "the size is that which was asked for");
            require(me.substrate() == GetParam(), "the substrate is that which was asked for");
            (*seen)[me.index()] += 1;
        });
        for (int rank = 0; rank < 16; ++rank) EXPECT_EQ((*seen)[rank], rank < size ? 1 : 0) << rank << " of " << size;
    }
}

TEST_P(SpmdTest, ranks_are_threads_of_this_process_or_processes_of_their_own) {
    Blackboard<std::array<std::atomic<int>, 3>> process;
    Blackboard<std::array<std::atomic<int>, 3>> thread;
    run(3, [&](Rank me) {
        (*process)[me.index()] = getpid();
        (*thread)[me.index()] = static_cast<int>(syscall(SYS_gettid));
    });
    for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ((*process)[rank] == getpid(), !processes());
        EXPECT_NE((*thread)[rank], (*thread)[(rank + 1) % 3]);
    }
}

void count(Rank) {}

TEST_P(SpmdTest, a_plain_function_is_a_program) { run(2, count); }

TEST_P(SpmdTest, a_team_of_no_rank_or_too_many_is_refused) {
    for (int size : {0, -1, 257}) EXPECT_THROW(run(size, count), penstock::UsageError) << size;
}

TEST_P(SpmdTest, nothing_is_left_behind) {
    run(2, count);
    const auto before = open_descriptors();
    for (int i = 0; i < 3; ++i) run(4, [](Rank me) { me.exchange("scratch", 100); });
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child was not reaped";
}

TEST(Spmd, processes_are_not_forked_from_a_program_with_threads) {
    SKIP_UNDER_THREAD_SANITIZER();
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) std::this_thread::sleep_for(1ms);
    });
    EXPECT_THROW(penstock::spmd(2, count, {.substrate = Substrate::processes}), penstock::UsageError);
    stop = true;
    other.join();
    penstock::spmd(2, count, {.substrate = Substrate::processes});
}

TEST_P(SpmdTest, an_exception_reaches_the_caller_with_its_rank) {
    try {
        run(3, [](Rank me) {
            if (me.index() == 1) throw std::out_of_range("beyond the end");
        });
        FAIL() << "nothing was thrown";
    } catch (const penstock::RankFailed& failed) {
        EXPECT_EQ(failed.rank(), 1);
        EXPECT_EQ(failed.others(), 0);
        EXPECT_NE(std::string(failed.what()).find("beyond the end"), std::string::npos) << failed.what();
        if (processes()) EXPECT_THROW(std::rethrow_exception(failed.cause()), penstock::Error);
        else EXPECT_THROW(std::rethrow_exception(failed.cause()), std::out_of_range);
    }
}

TEST_P(SpmdTest, the_cause_is_reported_and_not_what_followed_from_it) {
    try {
        run(4, [](Rank me) {
            if (me.index() == 3) throw std::runtime_error("the cause");
            me.wait([] { return false; }, penstock::Awaited::everybody());
        });
        FAIL() << "nothing was thrown";
    } catch (const penstock::RankFailed& failed) {
        EXPECT_EQ(failed.rank(), 3);
        EXPECT_EQ(failed.others(), 3);
    }
}

TEST(Spmd, what_is_no_exception_of_the_standard_is_named_as_such) {
    SKIP_UNDER_THREAD_SANITIZER();
    try {
        penstock::spmd(1, [](Rank) { throw 7; }, {.substrate = Substrate::processes});
        FAIL() << "nothing was thrown";
    } catch (const penstock::RankFailed& failed) {
        EXPECT_NE(std::string(failed.what()).find("not a std::exception"), std::string::npos) << failed.what();
    }
}

TEST(Spmd, a_rank_that_is_killed_is_reported_with_its_signal) {
    SKIP_UNDER_THREAD_SANITIZER();
    Blackboard<std::atomic<int>> victim;
    try {
        penstock::spmd(2,
                       [&](Rank me) {
                           if (me.index() == 0) return;
                           *victim = getpid();
                           raise(SIGKILL);
                       },
                       {.substrate = Substrate::processes});
        FAIL() << "nothing was thrown";
    } catch (const penstock::RankDied& died) {
        EXPECT_EQ(died.rank(), 1);
        EXPECT_EQ(died.pid(), *victim);
        EXPECT_EQ(died.signal(), SIGKILL);
        EXPECT_FALSE(died.exit_code());
    }
}

TEST(Spmd, a_rank_that_exits_in_the_middle_is_reported_with_its_exit_code) {
    SKIP_UNDER_THREAD_SANITIZER();
    try {
        penstock::spmd(1, [](Rank) { _exit(7); }, {.substrate = Substrate::processes});
        FAIL() << "nothing was thrown";
    } catch (const penstock::RankDied& died) {
        EXPECT_EQ(died.exit_code(), 7);
        EXPECT_FALSE(died.signal());
    }
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(SpmdTest);

}  // namespace
