// A team of ranks: it starts, grants memory, ends, fails and dies the same way with threads and with processes.
#include "penstock/spmd.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "tests/store/support.hpp"

namespace {

using namespace store_tests;
using std::chrono::steady_clock;

class SpmdTest : public TeamTest {};
class RankMemoryTest : public TeamTest {};
class RankLossTest : public TeamTest {};

// ---- running ----

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
    for (int i = 0; i < 3; ++i)
        run(4, [](Rank me) { me.exchange("scratch", 100); });
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

// ---- failing ----

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
        if (processes())
            EXPECT_THROW(std::rethrow_exception(failed.cause()), penstock::Error);
        else
            EXPECT_THROW(std::rethrow_exception(failed.cause()), std::out_of_range);
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
        penstock::spmd(
            2,
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

// ---- waiting for one that is gone ----

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
            me.ring(0);
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
            if (me.index() == 1)
                *word = 1;
            else
                me.wait([&] { return *word == 1; }, penstock::Awaited::rank(1));
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

// ---- memory ----

TEST_P(RankMemoryTest, what_the_owner_grants_another_rank_accepts_by_name) {
    run(2, [](Rank me) {
        if (me.index() == 0) {
            auto memory = me.make("inbox", 4096, 5);
            for (std::size_t i = 0; i < 4096; ++i) require(memory.data()[i] == std::byte{0}, "it is zero at first");
            std::strcpy(reinterpret_cast<char*>(memory.data()), "good morning");
            me.grant(memory, 1);
            me.wait([&] { return std::atomic_ref(memory.data()[100]).load() == std::byte{7}; }, penstock::Awaited::rank(1));
        } else {
            auto memory = me.accept(0, "inbox", 5);
            require(memory.size() == 4096 && memory.owner() == 0 && memory.name() == "inbox", "it says what it is");
            require(std::strcmp(reinterpret_cast<char*>(memory.data()), "good morning") == 0, "it is the owner's memory");
            std::atomic_ref(memory.data()[100]).store(std::byte{7});
            me.ring(0);
        }
    });
}

TEST_P(RankMemoryTest, grants_of_several_names_are_accepted_in_any_order) {
    run(2, [](Rank me) {
        std::vector<penstock::RankMemory> kept;
        if (me.index() == 0) {
            for (int i = 0; i < 20; ++i) {
                kept.push_back(me.make("part " + std::to_string(i), 8));
                std::memcpy(kept.back().data(), &i, sizeof i);
                me.grant(kept.back(), 1);
            }
        } else {
            for (int i = 19; i >= 0; --i) {
                kept.push_back(me.accept(0, "part " + std::to_string(i)));
                require(std::memcmp(kept.back().data(), &i, sizeof i) == 0, "each name has its own memory");
            }
        }
    });
}

TEST_P(RankMemoryTest, two_ranks_that_grant_each_other_more_than_a_box_holds_come_through) {
    run(2, [](Rank me) {
        constexpr int many = 600;  // a box of the kernel holds 10 to some hundred
        const int other = 1 - me.index();
        for (int i = 0; i < many; ++i) {
            auto memory = me.make("m", 1);
            me.grant(memory, other);
        }
        for (int i = 0; i < many; ++i) me.accept(other, "m");
    });
}

TEST_P(RankMemoryTest, everybody_gets_the_memory_of_everybody) {
    run(7, [](Rank me) {
        auto all = me.exchange("all", 64);
        for (auto& memory : all) std::atomic_ref(memory.data()[me.index()]).store(static_cast<std::byte>(me.index() + 1));
        for (int rank = 0; rank < 7; ++rank) me.ring(rank);
        me.wait(
            [&] {
                for (int rank = 0; rank < 7; ++rank)
                    if (std::atomic_ref(all[static_cast<std::size_t>(me.index())].data()[rank]).load() !=
                        static_cast<std::byte>(rank + 1))
                        return false;
                return true;
            },
            penstock::Awaited::rank(me.index()));
    });
}

TEST_P(RankMemoryTest, a_grant_that_never_comes_is_reported) {
    run(2, [](Rank me) {
        if (me.index() == 0) {
            try {
                me.accept(1, "nothing", 0, 50ms);
                require(false, "it is missed");
            } catch (const penstock::GrantMissing& missing) {
                require(missing.owner() == 1 && missing.name() == "nothing", "it is named");
            }
            auto memory = me.make("done", 1);
            me.grant(memory, 1);
        } else {
            me.accept(0, "done");
        }
    });
}

TEST_P(RankMemoryTest, another_kind_than_was_granted_is_refused) {
    EXPECT_THROW(run(2,
                     [](Rank me) {
                         auto memory = me.make("thing", 8, static_cast<std::uint64_t>(me.index()));
                         me.grant(memory, 1 - me.index());
                         try {
                             me.accept(1 - me.index(), "thing", 9);
                         } catch (const penstock::InvalidGrant& invalid) {
                             require(invalid.name() == "thing", "it is named");
                             throw;
                         }
                     }),
                 penstock::RankFailed);
}

TEST_P(RankMemoryTest, what_breaks_a_rule_is_refused) {
    run(2, [](Rank me) {
        const auto refuses = [](auto&& action) {
            try {
                action();
            } catch (const penstock::UsageError&) {
                return;
            }
            require(false, "it is refused");
        };
        auto memory = me.make("mine", 8);
        refuses([&] { me.make("", 8); });
        refuses([&] { me.make(std::string(64, 'x'), 8); });
        refuses([&] { me.make("empty", 0); });
        refuses([&] { me.grant(memory, 2); });
        refuses([&] { me.grant(memory, -1); });
        refuses([&] { me.accept(2, "mine"); });
        refuses([&] { me.dead(17); });
        penstock::RankMemory nothing;
        refuses([&] { me.grant(nothing, 0); });
        me.grant(memory, 1 - me.index());
        refuses([&] { me.grant(memory, 1 - me.index()); });
        auto others = me.accept(1 - me.index(), "mine");
        refuses([&] { me.grant(others, me.index()); });
        refuses([&] { me.freeze(others); });
        me.freeze(memory);
        refuses([&] { me.grant(memory, me.index()); });
    });
}

TEST_P(RankMemoryTest, memory_larger_than_the_machine_is_an_error_at_creation) {
    run(1, [](Rank me) {
        for (const std::size_t bytes : {std::size_t{1} << 50, SIZE_MAX, SIZE_MAX - 4096}) {
            try {
                me.make("huge", bytes);
            } catch (const penstock::SystemError& error) {
                require(error.number() == ENOMEM, "it is a lack of memory");
                continue;
            }
            require(false, "it is refused");
        }
    });
}

TEST_P(RankMemoryTest, freezing_waits_until_all_grants_were_accepted) {
    run(3, [](Rank me) {
        if (me.index() == 0) {
            auto memory = me.make("final", 8);
            me.grant(memory, 1);
            me.grant(memory, 2);
            try {
                me.freeze(memory, 1ms);  // rank 2 waits for a word first
                require(false, "it is not accepted yet");
            } catch (const penstock::GrantMissing&) {
            }
            auto word = me.make("word", 1);
            me.grant(word, 2);
            me.freeze(memory);
            std::atomic_ref(memory.data()[0]).store(std::byte{1});
            me.ring(1);
            me.ring(2);
        } else {
            if (me.index() == 2) me.accept(0, "word");
            auto memory = me.accept(0, "final");
            me.wait([&] { return std::atomic_ref(memory.data()[0]).load() == std::byte{1}; }, penstock::Awaited::rank(0));
        }
    });
}

TEST(RankMemory, a_process_without_descriptors_left_says_so) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto program = [](Rank me) {
        if (me.index() == 0) {
            auto memory = me.make("one too many", 8);
            me.grant(memory, 1);
            me.accept(1, "done");
        } else {
            auto done = me.make("done", 1);
            rlimit limit{};
            getrlimit(RLIMIT_NOFILE, &limit);
            const auto usual = limit.rlim_cur;
            limit.rlim_cur = 3;
            setrlimit(RLIMIT_NOFILE, &limit);
            int number = 0;
            try {
                me.accept(0, "one too many");
            } catch (const penstock::SystemError& error) {
                number = error.number();
            }
            limit.rlim_cur = usual;
            setrlimit(RLIMIT_NOFILE, &limit);
            me.grant(done, 0);
            require(number == EMFILE, "the limit is named");
        }
    };
    penstock::spmd(2, program, {.substrate = Substrate::processes});
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(SpmdTest);
INSTANTIATE_FOR_BOTH_SUBSTRATES(RankLossTest);
INSTANTIATE_FOR_BOTH_SUBSTRATES(RankMemoryTest);

}  // namespace
