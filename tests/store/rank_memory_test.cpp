// Ranks grant each other memory, by name, with threads and with processes alike.
#include <sys/resource.h>

#include <atomic>
#include <cstring>

#include "penstock/spmd.hpp"
#include "tests/store/support.hpp"

namespace {

using namespace store_tests;

class RankMemoryTest : public TeamTest {};

TEST_P(RankMemoryTest, what_the_owner_grants_another_rank_accepts_by_name) {
    run(2, [](Rank me) {
        if (me.index() == 0) {
            auto memory = me.make("inbox", 4096, 5);
            for (std::size_t i = 0; i < 4096; ++i) require(memory.data()[i] == std::byte{0}, "it is zero at first");
            std::strcpy(reinterpret_cast<char*>(memory.data()), "good morning");
            me.grant(memory, 1);
            me.wait([&] { return std::atomic_ref(memory.data()[100]).load() == std::byte{7}; },
                    penstock::Awaited::rank(1));
        } else {
            auto memory = me.accept(0, "inbox", 5);
            require(memory.size() == 4096 && memory.owner() == 0 && memory.name() == "inbox", "it says what it is");
            require(std::strcmp(reinterpret_cast<char*>(memory.data()), "good morning") == 0,
                    "it is the owner's memory");
            std::atomic_ref(memory.data()[100]).store(std::byte{7});
            me.wake(0);
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
        for (auto& memory : all)
            std::atomic_ref(memory.data()[me.index()]).store(static_cast<std::byte>(me.index() + 1));
        for (int rank = 0; rank < 7; ++rank) me.wake(rank);
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
            me.wake(1);
            me.wake(2);
        } else {
            if (me.index() == 2) me.accept(0, "word");
            auto memory = me.accept(0, "final");
            me.wait([&] { return std::atomic_ref(memory.data()[0]).load() == std::byte{1}; },
                    penstock::Awaited::rank(0));
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

INSTANTIATE_FOR_BOTH_SUBSTRATES(RankMemoryTest);

}  // namespace
