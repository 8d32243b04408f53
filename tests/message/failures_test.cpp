// What becomes of messages when a rank leaves, dies or never comes: typed errors, soon, and nothing torn.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>

#include "penstock/message.hpp"
#include "tests/bounded_child.hpp"
#include "tests/message/support.hpp"
#include "tests/sanitizers.hpp"

namespace {

using namespace message_tests;
using penstock::InvalidMessage;
using penstock::RankDied;
using penstock::RankLost;

constexpr std::size_t long_message = 300'000;

class MessageFailureTest : public TeamTest {};
INSTANTIATE_TEST_SUITE_P(All, MessageFailureTest, substrates, name_of);

TEST_P(MessageFailureTest, a_rank_that_does_not_exist_is_refused) {
    run(2, [](Rank me) {
        Messenger post(me);
        int value = 0;
        for (int rank : {2, -2, 1'000'000}) {
            require_throws<penstock::NoSuchRank>([&] { post.send(rank, value); }, "sending");
            require_throws<penstock::NoSuchRank>([&] { post.recv(rank, value); }, "receiving");
            require_throws<penstock::NoSuchRank>([&] { post.irecv(rank, value); }, "receiving later");
            require_throws<penstock::NoSuchRank>([&] { post.probe(rank); }, "looking");
            require_throws<penstock::NoSuchRank>([&] { post.iprobe(rank); }, "looking without waiting");
            require_throws<penstock::NoSuchRank>([&] { post.wait_all_of(rank); }, "waiting");
        }
        require_throws<penstock::NoSuchRank>([&] { post.send(any_source, value); }, "sending to anybody");
    });
}

TEST_P(MessageFailureTest, options_that_cannot_be_are_refused) {
    run(1, [](Rank me) {
        for (const std::uint64_t bytes : {1ull, 5'000ull, 1ull << 40})
            require_throws<penstock::UsageError>([&] { Messenger(me, {.ring_bytes = bytes}); }, "a ring of any size");
        require_throws<penstock::UsageError>([&] { Messenger(me, {.protocol = Protocol{9}}); },
                                             "a protocol of any number");
        require_throws<penstock::UsageError>([&] { Messenger(me, {.name = ""}); }, "no name");
    });
}

TEST_P(MessageFailureTest, ranks_with_different_options_are_told_so) {
    run(2, [](Rank me) {
        Messenger post(me, {.protocol = me.index() == 0 ? Protocol::ring : Protocol::pull});
        for (int i = 0; i < 2; ++i) {  // and each time it is the same
            try {
                post.send(1 - me.index(), 1);
                require(false, "it was refused");
            } catch (const InvalidMessage& invalid) {
                require(invalid.rank() == 1 - me.index() && invalid.field() == "option protocol", "with the field");
            }
        }
    });
}

TEST_P(MessageFailureTest, a_message_to_oneself_for_which_there_is_no_memory_leaves_nothing_under_way) {
    if (penstock_tests::sanitized) GTEST_SKIP() << "its allocator ends the program instead";
    run(1, [](Rank me) {
        Messenger post(me);
        const std::byte first{};
        bool refused = false;
        try {
            post.isend_bytes(0, std::span(&first, std::size_t{1} << 62));
        } catch (const std::bad_alloc&) {
            refused = true;
        }
        require(refused, "nobody has so much memory");
        post.wait_all();
        int value = 0;
        post.send(0, 5);
        post.recv(0, value);
        require(value == 5, "others go on");
    });
}

TEST_P(MessageFailureTest, what_a_rank_sent_before_it_left_is_received_and_then_its_leaving_is_told) {
    run(2, [](Rank me) {
        std::vector<std::uint8_t> into(5'000);
        if (me.index() == 0) {
            Messenger post(me);
            for (std::uint64_t i = 0; i < 10; ++i) send_pattern(post, 1, i * 300, i);
            return;
        }
        std::this_thread::sleep_for(30ms);
        Messenger post(me);
        for (std::uint64_t i = 0; i < 10; ++i) {
            const Status status = post.recv(i % 2 == 0 ? 0 : any_source, into);
            require(status.bytes == i * 300, "each is there");
        }
        require_throws<RankLost>([&] { post.recv(0, into); }, "a receive from it");
        require_throws<RankLost>([&] { post.send(0, 1); }, "a short message to it");
        require_throws<RankLost>([&] { post.send(0, std::vector<int>(10)); }, "memory for it");
        require_throws<RankLost>([&] { post.recv(any_source, into); }, "a receive from anybody");
        require_throws<RankLost>([&] { post.probe(0); }, "a look");
        require_throws<RankLost>([&] { send_pattern(post, 0, long_message, 1); }, "a send that it would have to take");
        Request request = post.irecv(0, into);
        require_throws<RankLost>([&] { post.wait_all(); }, "a wait for all");
        require_throws<penstock::UsageError>([&] { post.wait(request); }, "which collected it");
    });
}

TEST_P(MessageFailureTest, a_messenger_that_was_destroyed_while_its_rank_goes_on_is_told) {
    run(2, [](Rank me) {
        int value = 0;
        auto post = std::make_unique<Messenger>(me);
        Messenger other(me, {.name = "other"});
        if (me.index() == 0) {
            post->recv(1, value);
            post.reset();
            other.recv(1, value);  // so that this rank stays
            return;
        }
        post->send(0, 1);
        require_throws<penstock::MessengerClosed>([&] { send_pattern(*post, 0, long_message, 1); },
                                                  "nobody will take it");
        require_throws<penstock::MessengerClosed>([&] { post->recv(0, value); }, "nobody will send it");
        other.send(0, 1);
    });
}

TEST_P(MessageFailureTest, who_leaves_waits_for_nobody_who_does_not_look) {
    const auto ending = penstock_tests::ending_of([substrate = GetParam()] {
        message_tests::run(substrate, 2, [](Rank me) {
            Messenger signs(me, {.name = "signs"});
            std::vector<int> large(200'000, me.index());
            for (int round = 0; round < 200; ++round) {
                std::optional<Messenger> post(std::in_place, me, MessengerOptions{.name = std::to_string(round)});
                int sign = 0;
                Request request = me.index() == 0 ? post->isend(1, large) : post->irecv(0, large);
                signs.send(1 - me.index(), sign);
                signs.recv(1 - me.index(), sign);
                for (int look = 0; look < (me.index() == 0 ? 3 : 1) + round % 3; ++look) {
                    try {
                        if (post->test(request)) break;
                    } catch (const penstock::Error&) {  // the other one has left
                        break;
                    }
                }
                if (me.index() == 0) {
                    post.reset();
                    signs.send(1, sign);
                } else {
                    signs.recv(0, sign);  // which sees to nothing of `post`
                }
            }
        });
        return testing::Test::HasFailure() ? 1 : 0;
    });
    EXPECT_TRUE(ending.good()) << ending.text();
}

TEST_P(MessageFailureTest, a_rank_that_never_makes_a_messenger_is_reported) {
    const auto program = [](Rank me) {
        if (me.index() == 0) {
            std::this_thread::sleep_for(300ms);
            return;
        }
        Messenger post(me);
        require_throws<penstock::GrantMissing>([&] { post.send(0, 1); }, "it is missed");
    };
    penstock::spmd(2, program, {.substrate = GetParam(), .accept_within = 50ms});
}

TEST_P(MessageFailureTest, memory_of_a_send_that_was_given_up_is_not_read_any_more) {  // the sanitizers watch
    for (const Protocol protocol : {Protocol::pull, Protocol::push, Protocol::ring, Protocol::pure_pull}) {
        for (unsigned seed = 0; seed < 20; ++seed) {
            run(2, [protocol, seed](Rank me) {
                std::mt19937_64 random(seed * 2 + static_cast<unsigned>(me.index()));
                const auto pause = std::chrono::microseconds(random() % 300);
                auto data = std::make_unique<std::vector<std::uint8_t>>(pattern(long_message, 1));
                try {
                    Messenger post(me, {.protocol = protocol});
                    int ready = 0;
                    post.send(1 - me.index(), 1);
                    post.recv(1 - me.index(), ready);
                    if (me.index() == 0) {
                        for (int i = 0; i < 3; ++i) post.isend(1, *data);
                    } else {
                        for (int i = 0; i < 3; ++i) post.irecv(0, *data);
                    }
                    std::this_thread::sleep_for(pause);
                    for (unsigned i = 0; i < seed; ++i) post.iprobe(any_source);
                } catch (const RankLost&) {  // the other was faster
                }
                std::fill(data->begin(), data->end(), std::uint8_t{0});
                data.reset();
            });
        }
    }
}

// ---- death ----

class MessageDeathTest : public testing::Test {
  protected:
    void SetUp() override { SKIP_UNDER_THREAD_SANITIZER(); }
};

TEST_F(MessageDeathTest, a_receive_from_anybody_tells_of_each_death_once_and_goes_on) {
    const auto program = [](Rank me) {
        Messenger post(me);
        int value = 0;
        if (me.index() == 2) {
            post.send(0, 1);
            raise(SIGKILL);
        }
        if (me.index() == 1) {
            post.recv(0, value);
            post.send(0, 2);
            return;
        }
        require(post.recv(any_source, value).source == 2, "what the dead one had sent comes first");
        try {
            post.recv(any_source, value);
            require(false, "its death is told");
        } catch (const RankDied& died) {
            require(died.rank() == 2 && died.signal() == SIGKILL, "with the facts");
        }
        post.send(1, 1);
        require(post.recv(any_source, value).source == 1 && value == 2, "then others are received as before");
    };
    EXPECT_THROW(penstock::spmd(3, program, {.substrate = Substrate::processes}), RankDied);
}

/// Kills the sender or the receiver of messages of all sizes at a moment drawn from `random`.
void kill_one(std::mt19937_64& random, bool kill_the_sender) {
    const MessengerOptions options{.protocol = static_cast<Protocol>(random() % 5), .ring_bytes = 8192};
    const auto after = std::chrono::microseconds{random() % 2'000};
    const auto seed = random();
    const auto size_of = [seed](std::uint64_t number) -> std::size_t {
        std::mt19937_64 draw(seed + number);
        return draw() % 4 == 0 ? draw() % 40'000 : draw() % 64;
    };
    const auto program = [&](Rank me) {
        Messenger post(me, options);
        const bool victim = me.index() == 1;
        const bool sender = victim == kill_the_sender;
        pid_t process = getpid();
        std::thread killer;
        std::chrono::steady_clock::time_point killed, told;
        if (victim) {
            post.send(0, process);
        } else {
            post.recv(1, process);
            killer = std::thread([&] {
                std::this_thread::sleep_for(after);
                killed = std::chrono::steady_clock::now();
                kill(process, SIGKILL);
            });
        }
        std::string wrong;
        try {
            std::vector<std::uint8_t> into(40'000);
            for (std::uint64_t number = 1; wrong.empty(); ++number) {
                if (sender) {
                    send_pattern(post, 1 - me.index(), size_of(number), number);
                    continue;
                }
                into.resize(40'000);
                into.resize(post.recv(1 - me.index(), into).bytes);
                if (into.size() != size_of(number) || !is_pattern(into, number)) wrong = "torn, lost or repeated";
            }
        } catch (const RankDied& died) {
            told = std::chrono::steady_clock::now();
            if (died.signal() != SIGKILL) wrong = "another signal";
        } catch (const std::exception& other) {
            wrong = other.what();
        }
        if (killer.joinable()) killer.join();
        require(wrong.empty(), wrong);
        require(told - killed < 2s, "the death is told soon");
    };
    try {
        penstock::spmd(2, program, {.substrate = Substrate::processes});
        ADD_FAILURE() << "the death was missed";
    } catch (const RankDied& died) {
        EXPECT_EQ(died.rank(), 1);
        EXPECT_EQ(died.signal(), SIGKILL);
    } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
    }
}

void kill_many(bool kill_the_sender) {
    penstock_tests::kill_many([&](std::mt19937_64& random) { kill_one(random, kill_the_sender); });
}

TEST_F(MessageDeathTest, a_sender_killed_at_any_moment_leaves_whole_messages_and_is_reported) { kill_many(true); }
TEST_F(MessageDeathTest, a_receiver_killed_at_any_moment_is_reported) { kill_many(false); }

}  // namespace
