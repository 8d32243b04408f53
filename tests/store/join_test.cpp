// Teams of processes that nobody forked: they meet by name, work as any team does, end as any team does.
#include "penstock/join.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "penstock/barrier.hpp"
#include "penstock/mutex.hpp"
#include "penstock/remote.hpp"
#include "tests/store/join_support.hpp"

namespace {

using namespace store_tests;
using penstock::Awaited;
using penstock::Barrier;
using penstock::Flag;
using penstock::HostMissing;
using penstock::join;
using penstock::JoinOptions;
using penstock::Membership;
using penstock::MembersMissing;
using penstock::RankDied;
using penstock::RankFailed;
using penstock::Region;
using penstock::Remote;
using penstock::RemoteFlag;
using penstock::TeamHost;
using std::chrono::steady_clock;

/// The bound that users are told of.
constexpr auto bound = 1s;

/// Everybody stores its number into everybody's region, in turns given by a barrier, and counts under a mutex.
void work_together(Rank me) {
    const auto size = static_cast<std::size_t>(me.size());
    Barrier barrier(me, "all");
    penstock::Mutex mutex(me, "m");
    Region<int> inbox(me, "inbox", size);
    std::vector<Remote<int>> outboxes;
    for (int rank = 0; rank < me.size(); ++rank)
        if (rank != me.index()) inbox.grant(rank);
    for (int rank = 0; rank < me.size(); ++rank)
        if (rank != me.index()) outboxes.push_back(Remote<int>::accept(me, rank, "inbox"));
    for (int round = 1; round <= 20; ++round) {
        for (auto& outbox : outboxes) outbox[static_cast<std::size_t>(me.index())] = round * 100 + me.index();
        barrier.arrive_and_wait();
        for (int rank = 0; rank < me.size(); ++rank)
            require(rank == me.index() || inbox[static_cast<std::size_t>(rank)] == round * 100 + rank,
                    "every store is here");
        barrier.arrive_and_wait();
        const std::lock_guard lock(mutex);
    }
}

// ---- coming together ----

TEST(Join, processes_that_were_started_apart_form_a_team_by_its_name) {
    SKIP_UNDER_THREAD_SANITIZER();
    Blackboard<std::array<std::atomic<int>, 3>> process;
    const auto name = a_team_name();
    std::vector<Program> members;
    for (int i = 0; i < 3; ++i)
        members.emplace_back([&] {
            join(name, {}, [&](Rank me) {
                require(me.size() == 3 && me.substrate() == Substrate::processes, "it is the team that was hosted");
                (*process)[static_cast<std::size_t>(me.index())] = getpid();
                work_together(me);
            });
        });
    TeamHost host(name, 3);
    host.wait();
    EXPECT_TRUE(host.complete());
    EXPECT_EQ(host.present(), 3);
    for (auto& member : members) EXPECT_EQ(member.code(), 0);
    for (const auto& number : *process) EXPECT_NE(number, 0);
    EXPECT_NE((*process)[0], (*process)[1]);
}

/// In threads of this process, each with a membership of its own.
void run_as_threads(const std::string& name, int size, const std::function<void(Rank)>& program) {
    std::vector<std::thread> threads;
    for (int i = 0; i < size; ++i)
        threads.emplace_back([&name, &program] {
            try {
                join(name, {}, program);
            } catch (const std::exception& error) {
                ADD_FAILURE() << error.what();
            }
        });
    for (auto& thread : threads) thread.join();
}

TEST(Join, one_process_may_have_several_places_and_stand_host_too) {
    const auto name = a_team_name();
    TeamHost host(name, 3);
    EXPECT_EQ(host.name(), name);
    EXPECT_EQ(host.size(), 3);
    run_as_threads(name, 3, work_together);
    host.wait();
    host.wait();  // says the same again
}

TEST(Join, a_team_may_have_more_members_than_one_message_carries_descriptors) {
    SKIP_UNDER_THREAD_SANITIZER();
    constexpr int size = 66;
    Blackboard<std::array<std::atomic<int>, size>> seen;
    const auto name = a_team_name();
    std::vector<Program> members;
    for (int i = 0; i < size; ++i)
        members.emplace_back([&] {
            join(name, {}, [&](Rank me) {
                ++(*seen)[static_cast<std::size_t>(me.index())];
                Barrier(me, "all").arrive_and_wait();
            });
        });
    TeamHost host(name, size);
    host.wait();
    for (auto& member : members) EXPECT_EQ(member.code(), 0);
    for (const auto& times : *seen) EXPECT_EQ(times, 1);
}

TEST(Join, a_rank_that_is_asked_for_is_given) {
    const auto name = a_team_name();
    TeamHost host(name, 4);
    std::vector<JoinOptions> options(4);
    for (int rank = 0; rank < 4; ++rank) options[static_cast<std::size_t>(rank)].rank = 3 - rank;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            join(name, options[static_cast<std::size_t>(i)], [&](Rank me) { EXPECT_EQ(me.index(), 3 - i); });
        });
    for (auto& thread : threads) thread.join();
    host.wait();
}

TEST(Join, whoever_comes_before_the_host_waits_for_it) {
    const auto name = a_team_name();
    std::thread early([&] { join(name, {.within = 20s}, [](Rank) {}); });
    std::this_thread::sleep_for(50ms);
    TeamHost host(name, 1);
    host.wait();
    early.join();
}

TEST(Join, what_the_function_returns_is_returned) {
    const auto name = a_team_name();
    TeamHost host(name, 1);
    EXPECT_EQ(join(name, {}, [](Rank me) { return std::to_string(me.size()); }), "1");
}

TEST(Join, a_member_is_pinned_while_it_runs_and_not_longer) {
    const auto name = a_team_name();
    TeamHost host(name, 1);
    cpu_set_t before;
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    join(name, {}, [](Rank) {
        cpu_set_t during;
        ASSERT_EQ(sched_getaffinity(0, sizeof during, &during), 0);
        EXPECT_EQ(CPU_COUNT(&during), 1);
    });
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

// ---- ending ----

void wait_for_rank_1(Rank me) {
    me.wait([] { return false; }, Awaited::rank(1));
}

TEST(Join, nothing_is_left_behind) {
    const auto round = [] {
        const auto name = a_team_name();
        TeamHost host(name, 2);
        run_as_threads(name, 2, work_together);
        host.wait();
    };
    round();
    const auto descriptors = open_descriptors();
    const auto threads = threads_of_this_process();
    for (int i = 0; i < 3; ++i) round();
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_EQ(threads_of_this_process(), threads);
}

TEST(Join, an_exception_reaches_its_own_caller_the_host_and_whoever_waits_for_the_member) {
    const auto name = a_team_name();
    TeamHost host(name, 2);
    std::thread other([&] { EXPECT_THROW(join(name, {.rank = 0}, wait_for_rank_1), penstock::RankLeft); });
    EXPECT_THROW(join(name, {.rank = 1}, [](Rank) { throw std::out_of_range("beyond the end"); }), std::out_of_range);
    other.join();
    try {
        host.wait();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const RankFailed& failed) {
        EXPECT_EQ(failed.rank(), 1) << "the cause, and not what followed from it";
        EXPECT_EQ(failed.others(), 1);
        EXPECT_NE(std::string(failed.what()).find("beyond the end"), std::string::npos) << failed.what();
    }
}

TEST(Join, a_membership_is_left_once_and_gives_no_rank_afterwards) {
    const auto name = a_team_name();
    TeamHost host(name, 1);
    Membership membership(name);
    EXPECT_EQ(membership.rank().index(), 0);
    Membership moved(std::move(membership));
    EXPECT_THROW(static_cast<void>(membership.rank()), penstock::UsageError);
    moved.leave();
    moved.leave();
    moved.fail("too late");
    EXPECT_THROW(static_cast<void>(moved.rank()), penstock::UsageError);
    host.wait();
}

TEST(Join, a_membership_that_an_exception_ends_has_failed) {
    const auto name = a_team_name();
    TeamHost host(name, 1);
    try {
        const Membership membership(name);
        throw std::runtime_error("out of ink");
    } catch (const std::runtime_error&) {
    }
    EXPECT_THROW(host.wait(), RankFailed);
}

TEST(Join, waiting_for_the_end_of_a_team_can_have_a_limit) {
    const auto name = a_team_name();
    TeamHost host(name, 1);
    EXPECT_FALSE(host.wait_for(1ms));
    Membership membership(name);
    EXPECT_FALSE(host.wait_for(1ms));
    membership.leave();
    EXPECT_TRUE(host.wait_for(20s));
}

TEST(Join, a_team_goes_on_without_its_host) {
    const auto name = a_team_name();
    auto host = std::make_unique<TeamHost>(name, 2);
    std::atomic<int> ready{0};
    run_as_threads(name, 2, [&](Rank me) {
        ++ready;
        while (ready < 2) std::this_thread::yield();
        if (me.index() == 0) host.reset();
        work_together(me);
    });
}

TEST(Join, a_name_is_free_again_when_its_team_has_ended) {
    const auto name = a_team_name();
    for (int i = 0; i < 3; ++i) {
        TeamHost host(name, 1);
        join(name, {}, [](Rank) {});
        host.wait();
    }
}

// ---- dying ----

/// Rank 1 dies by `end`; what rank 0 and rank 2 are told, and how soon, and what the host says.
struct Told {
    std::atomic<int> ready{0};
    std::atomic<std::int64_t> died{0};
    std::array<std::atomic<std::int64_t>, 3> told{};
};

std::int64_t now() { return steady_clock::now().time_since_epoch().count(); }

void survive(Rank me, Told& told) {
    ++told.ready;
    if (me.index() == 1)
        for (;;) pause();
    try {
        require(!me.wait_for([] { return false; }, Awaited::rank(1), 20s), "nothing else ends the wait");
    } catch (const RankDied& died) {
        require(died.rank() == 1, "the dead one is named");
        told.told[static_cast<std::size_t>(me.index())] = now();
    }
}

void expect_soon(const Told& told) {
    for (const int rank : {0, 2}) {
        ASSERT_NE(told.told[static_cast<std::size_t>(rank)], 0);
        EXPECT_LT(std::chrono::nanoseconds(told.told[static_cast<std::size_t>(rank)] - told.died), bound);
    }
}

TEST(Join, a_member_that_is_killed_is_reported_to_the_others_and_to_the_host) {
    SKIP_UNDER_THREAD_SANITIZER();
    Blackboard<Told> told;
    const auto name = a_team_name();
    std::vector<Program> members;
    for (int rank = 0; rank < 3; ++rank)
        members.emplace_back([&, rank] { join(name, {.rank = rank}, [&](Rank me) { survive(me, *told); }); });
    TeamHost host(name, 3);
    while (told->ready < 3) std::this_thread::sleep_for(1ms);
    told->died = now();
    members[1].kill();
    try {
        host.wait();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const RankDied& died) {
        EXPECT_EQ(died.rank(), 1);
        EXPECT_EQ(died.pid(), members[1].process());
        EXPECT_EQ(died.signal(), SIGKILL) << "the kernel tells it to the parent, which this host is";
    }
    EXPECT_EQ(members[0].code(), 0);
    EXPECT_EQ(members[2].code(), 0);
    expect_soon(*told);
}

TEST(Join, a_death_is_noticed_although_the_host_was_killed_before) {
    SKIP_UNDER_THREAD_SANITIZER();
    Blackboard<Told> told;
    const auto name = a_team_name();
    std::vector<Program> members;
    for (int rank = 0; rank < 3; ++rank)
        members.emplace_back([&, rank] { join(name, {.rank = rank}, [&](Rank me) { survive(me, *told); }); });
    Program host([&] { TeamHost(name, 3).wait(); });
    while (told->ready < 3) std::this_thread::sleep_for(1ms);
    host.kill();
    EXPECT_EQ(host.code(), -SIGKILL);
    told->died = now();
    members[1].kill();
    EXPECT_EQ(members[0].code(), 0);
    EXPECT_EQ(members[2].code(), 0);
    expect_soon(*told);
}

TEST(Join, a_member_that_exits_in_the_middle_is_reported_with_its_exit_code) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto name = a_team_name();
    const Program member([&] { join(name, {}, [](Rank) { _exit(7); }); });
    TeamHost host(name, 1);
    try {
        host.wait();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const RankDied& died) {
        EXPECT_EQ(died.exit_code(), 7);
        EXPECT_FALSE(died.signal());
    }
}

TEST(Join, a_member_that_becomes_another_program_has_failed) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto name = a_team_name();
    Program member([&] { join(name, {.rank = 1}, [](Rank) { execlp("sleep", "sleep", "60", nullptr); }); });
    TeamHost host(name, 2);
    EXPECT_THROW(join(name, {.rank = 0}, wait_for_rank_1), penstock::RankLeft);
    try {
        host.wait();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const RankFailed& failed) {
        EXPECT_EQ(failed.rank(), 1);
        EXPECT_NE(std::string(failed.what()).find("let go of the team"), std::string::npos) << failed.what();
    }
    member.kill();
}

TEST(Join, a_forked_child_of_a_member_is_no_member) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto name = a_team_name();
    TeamHost host(name, 1);
    {
        Membership membership(name);
        Program child([&] {
            EXPECT_THROW(static_cast<void>(membership.rank()), penstock::UsageError);
            membership.fail("by somebody else");
            const Membership gone(std::move(membership));
        });
        EXPECT_EQ(child.code(), 0);
        EXPECT_FALSE(host.wait_for(20ms)) << "the member itself goes on";
    }
    host.wait();
}

TEST(Join, members_killed_at_any_moment_are_reported_to_all) {
    SKIP_UNDER_THREAD_SANITIZER();
    for (unsigned seed = 1; seed <= kills() / 5 && !HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        const auto name = a_team_name();
        Blackboard<std::atomic<int>> told;
        std::vector<Program> members;
        for (int rank = 0; rank < 3; ++rank)
            members.emplace_back([&, rank] {
                try {
                    join(name, {.rank = rank}, [&](Rank me) {
                        try {
                            for (;;) work_together(me);
                        } catch (const penstock::RankLost&) {
                            ++*told;  // of the dead one, or of one that was told before
                        }
                    });
                } catch (const HostMissing&) {
                    ++*told;  // it died before the team was complete, and nobody took its place
                } catch (const MembersMissing&) {
                    ++*told;
                }
            });
        TeamHost host(name, 3, {.within = 300ms});
        std::this_thread::sleep_for(std::chrono::microseconds{seed * 7'919 % 20'000});
        members[2].kill();
        EXPECT_ANY_THROW(host.wait());
        EXPECT_EQ(members[0].code(), 0);
        EXPECT_EQ(members[1].code(), 0);
        EXPECT_EQ(*told, 2);
    }
}

}  // namespace
