// What becomes of messages when a rank leaves, dies, never comes or writes nonsense: typed errors, soon, and nothing
// torn.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "message/mailbox.hpp"
#include "message/segments.hpp"
#include "penstock/message.hpp"
#include "tests/message/support.hpp"

namespace {

using namespace message_tests;
using penstock::InvalidMessage;
using penstock::RankDied;
using penstock::RankLost;
using penstock::message::Envelope;
using penstock::message::Mailbox;
using penstock::message::Way;

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
        try {
            post.send(1 - me.index(), 1);
            require(false, "it was refused");
        } catch (const InvalidMessage& invalid) {
            require(invalid.rank() == 1 - me.index() && invalid.field() == "option protocol", "with the field");
        }
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

class MessageDeathTest : public testing::Test {
  protected:
    void SetUp() override {
        SKIP_UNDER_THREAD_SANITIZER();
    }
};

// ---- nonsense ----

/// A rank that writes what it likes into rank 0's mailbox, by the layout that both know.
struct Forger {
    explicit Forger(Rank me, penstock::MessengerOptions options = {.protocol = Protocol::ring, .ring_bytes = 4096}) {
        own = me.make(options.name, Mailbox::size_of(me.size(), options.ring_bytes), penstock::message::mailbox_kind);
        own_box = Mailbox::create(own.data(), me, options);
        me.grant(own, 0);
        his = me.accept(0, options.name, penstock::message::mailbox_kind);
        his_box = Mailbox::open(his.data(), his.size(), me, 0, options);
    }
    void send(const Envelope& envelope) {
        auto& record = his_box.slots(1)[number % penstock::message::slots_a_lane];
        record.payload = envelope;
        record.sequence.store(2 * ++number, std::memory_order_release);
    }
    penstock::RankMemory own, his;
    Mailbox own_box, his_box;
    std::uint64_t number = 0;
};

/// Rank 1 does what `forge` says; rank 0 receives and must be told that `field` cannot be.
void expect_refused(Substrate substrate, const std::string& field, std::function<void(Forger&)> forge,
                    Protocol protocol = Protocol::ring) {
    message_tests::run(substrate, 2, [&](Rank me) {
        const MessengerOptions options{.protocol = protocol, .ring_bytes = 4096};
        if (me.index() == 1) {
            Forger forger(me, options);
            forge(forger);
            me.ring(0);
            penstock::RankMemory last;
            try {
                last = me.accept(0, "end");
            } catch (const RankLost&) {
            }
            return;
        }
        Messenger post(me, options);
        std::vector<std::uint8_t> into(10'000);
        for (int i = 0; i < 2; ++i) {  // and it stays refused
            try {
                post.recv(1, into);
                require(false, field + " was believed");
            } catch (const InvalidMessage& invalid) {
                require(invalid.rank() == 1 && invalid.field() == field, field + ", but it says: " + invalid.what());
            }
        }
        require_throws<InvalidMessage>([&] { post.send(1, 1); }, "nothing is sent to it either");
    });
}

TEST_P(MessageFailureTest, headers_that_cannot_be_are_refused) {
    const auto envelope = [](std::uint64_t bytes, Way way, std::uint64_t word) {
        return Envelope{bytes, 0, way, {}, {}, {word, 0, 0, 0}};
    };
    const auto forged = [&](const std::string& field, Envelope header) {
        expect_refused(GetParam(), field, [header](Forger& forger) { forger.send(header); });
    };
    forged("way", envelope(8, static_cast<Way>(77), 0));
    forged("way", envelope(8, Way::none, 0));
    forged("size in the header", envelope(33, Way::inside, 0));
    forged("size in the header", envelope(~0ull, Way::inside, 0));
    forged("size in the ring", envelope(4097, Way::ring_whole, 0));
    forged("position in the ring", envelope(100, Way::ring_whole, 5));
    forged("position in the ring", envelope(100, Way::ring_pieces, ~0ull));
    if (GetParam() == Substrate::processes) {  // threads of one process must trust one another with addresses
        forged("way", envelope(100, Way::parcel, 0x1234));
        forged("address to fetch from", envelope(100, Way::pull, 0x10));
    }
}

TEST_P(MessageFailureTest, counters_that_cannot_be_are_refused) {
    expect_refused(GetParam(), "count of bytes filled", [](Forger& forger) {
        forger.his_box.lane(1).inward.filled.filled.store(1'000'000);
        forger.send({100, 0, Way::ring_pieces, {}, {}, {0, 0, 0, 0}});
    });
    for (const bool bytes : {false, true}) {
        message_tests::run(GetParam(), 2, [&](Rank me) {
            const MessengerOptions options{.protocol = Protocol::ring, .ring_bytes = 4096};
            if (me.index() == 1) {
                Forger forger(me, options);
                auto& outward = forger.his_box.lane(1).outward;
                (bytes ? outward.freed.freed : outward.credits.completed).store(1'000'000);
                penstock::RankMemory last;
                try {
                    last = me.accept(0, "end");
                } catch (const RankLost&) {
                }
                return;
            }
            Messenger post(me, options);
            while (post.iprobe(1)) {
            }
            const auto data = pattern(bytes ? 1'000 : 1, 1);
            try {
                for (;;) post.send(1, data);
            } catch (const InvalidMessage& invalid) {
                require(invalid.field() == (bytes ? "count of bytes freed" : "number of messages taken"),
                        invalid.what());
            }
        });
    }
}

TEST_P(MessageFailureTest, answers_that_cannot_be_are_refused) {
    const auto answered = [&](const std::string& field, std::uint16_t before, std::uint64_t bytes) {
        message_tests::run(GetParam(), 2, [&](Rank me) {
            const MessengerOptions options{.protocol = Protocol::ring, .ring_bytes = 4096};
            if (me.index() == 1) {
                Forger forger(me, options);
                auto& record = forger.own_box.slots(0)[0];  // where rank 0's question arrives
                while (record.sequence.load(std::memory_order_acquire) == 0) std::this_thread::yield();
                record.payload = Envelope{bytes, 0, Way::answer, {}, before, {}};
                record.done.store(1, std::memory_order_release);
                try {
                    me.accept(0, "end");
                } catch (const RankLost&) {
                }
                return;
            }
            Messenger post(me, options);
            int value = 1;
            post.send(1, value);
            try {
                post.recv(1, value);
                require(false, field + " was believed");
            } catch (const InvalidMessage& invalid) {
                require(invalid.field() == field, field + ", but it says: " + invalid.what());
            }
        });
    };
    answered("number of messages before an answer", 1, 4);
    answered("number of messages before an answer", 60'000, 4);
    answered("size in the header", 0, 33);
    expect_refused(GetParam(), "way",
                   [](Forger& forger) { forger.send(Envelope{4, 0, Way::answer, {}, {}, {}}); });
}

TEST_P(MessageFailureTest, a_vector_for_which_there_is_no_memory_is_refused_and_its_message_stays) {
    message_tests::run(GetParam(), 2, [&](Rank me) {
        const MessengerOptions options{.protocol = Protocol::ring, .ring_bytes = 4096};
        if (me.index() == 1) {
            Forger forger(me, options);
            forger.send(Envelope{std::uint64_t{1} << 62, 0, Way::ring_pieces, {}, {}, {}});
            try {
                me.accept(0, "end");
            } catch (const RankLost&) {
            }
            return;
        }
        Messenger post(me, options);
        for (int i = 0; i < 2; ++i) {
            try {
                post.recv_vector<std::uint64_t>(1);
                require(false, "nobody has so much memory");
            } catch (const penstock::MessageTooLong& error) {
                require(error.source() == 1 && error.announced() == std::uint64_t{1} << 62 &&
                            error.limit() < error.announced(),
                        "with the facts");
            }
        }
    });
    run(2, [](Rank me) {
        Messenger post(me, {.longest_vector = 1'000});
        if (me.index() == 0) {
            send_pattern(post, 1, 1'001, 1);
            send_pattern(post, 1, 1'000, 2);
            return;
        }
        require_throws<penstock::MessageTooLong>([&] { post.recv_vector<std::uint8_t>(0); }, "longer than was allowed");
        std::vector<std::uint8_t> into(1'001);
        post.recv(0, into);
        require(is_pattern(into, 1), "it can still be received");
        require(is_pattern(post.recv_vector<std::uint8_t>(any_source), 2), "and one of that length is no trouble");
    });
}

TEST_F(MessageDeathTest, segments_that_cannot_be_are_refused) {
    const auto forged = [&](const std::string& field, std::uint64_t bytes, std::uint64_t number, std::uint64_t offset) {
        message_tests::run(Substrate::processes, 2, [&](Rank me) {
            const MessengerOptions options{.protocol = Protocol::ring, .ring_bytes = 4096};
            if (me.index() == 1) {
                Forger forger(me, options);
                auto segment = me.make(penstock::message::segment_name(options.name, 0), 4096,
                                       penstock::message::segment_kind);
                me.grant(segment, 0);
                forger.send(Envelope{bytes, 0, Way::segment, {}, {}, {number, offset, 0, 0}});
                try {
                    me.accept(0, "end");
                } catch (const RankLost&) {
                }
                return;
            }
            Messenger post(me, options);
            std::vector<std::uint8_t> into(100);
            try {
                post.recv(1, into);
                require(false, field + " was believed");
            } catch (const InvalidMessage& invalid) {
                require(invalid.field() == field, field + ", but it says: " + invalid.what());
            }
        });
    };
    forged("number of a segment", 100, penstock::message::most_segments, 0);
    forged("place in a segment", 100, 0, 4000);
    forged("place in a segment", 100, 0, ~0ull - 50);
    forged("place in a segment", ~0ull, 0, 8);
}

// ---- standstill ----

/// Runs the team and expects of each rank that is named that it is told of ranks that wait for one another.
void expect_standstill(Substrate substrate, int size, const std::string& words, std::function<void(Messenger&, int)> waits) {
    message_tests::run(substrate, size, [&](Rank me) {
        Messenger post(me, {.name = "waiting"}), other(me, {.name = "other"});
        std::string told;
        try {
            waits(post, me.index());
        } catch (const penstock::WouldDeadlock& error) {
            told = error.what();
        } catch (const RankLost&) {  // another one was told first, and left
            told = words;
        }
        require(told.find(words) != std::string::npos, "rank " + std::to_string(me.index()) + " was told '" + told + "'");
    });
}

TEST_P(MessageFailureTest, ranks_that_receive_from_one_another_in_a_circle_are_told) {
    for (const int size : {2, 4})
        expect_standstill(GetParam(), size, "rank 0 for a message of rank 1", [size](Messenger& post, int me) {
            int value = 0;
            post.recv((me + 1) % size, value);
        });
}

TEST_P(MessageFailureTest, ranks_that_send_to_one_another_at_once_are_told_and_their_memory_is_theirs_again) {
    for (const Protocol protocol : {Protocol::automatic, Protocol::push, Protocol::ring}) {
        message_tests::run(GetParam(), 2, [&](Rank me) {
            Messenger post(me, {.protocol = protocol});
            auto data = std::make_unique<std::vector<std::uint8_t>>(pattern(1'000'000, 1));
            try {
                post.send(1 - me.index(), *data);
                require(false, "nobody takes it");
            } catch (const penstock::WouldDeadlock& error) {
                const std::string what = error.what();
                require(what.find("rank 0 until rank 1 takes its message") != std::string::npos, what);
            } catch (const RankLost&) {
            }
            data.reset();
        });
    }
}

TEST_P(MessageFailureTest, a_receive_from_anybody_that_all_others_wait_for_is_told) {
    expect_standstill(GetParam(), 3, "for a message of anybody", [](Messenger& post, int me) {
        int value = 0;
        if (me == 1)
            post.recv(any_source, value);
        else if (me == 0)
            post.probe(1);
        else
            post.recv(1, value);
    });
}

TEST_P(MessageFailureTest, ranks_that_wait_long_for_one_that_works_are_left_in_peace) {
    run(3, [](Rank me) {
        Messenger post(me);
        int value = me.index();
        if (me.index() == 2) {  // works for a while, then sends
            std::this_thread::sleep_for(150ms);
            post.send(0, value);
            return;
        }
        if (me.index() == 0) {
            post.recv(2, value);
            post.send(1, value);
        } else {
            post.recv(0, value);
        }
        require(value == 2, "it comes in the end");
    });
    run(2, [](Rank me) {  // each waits for the other, and each wait ends
        Messenger post(me);
        auto data = pattern(20'000'000, 1);
        std::vector<std::uint8_t> into(data.size());
        for (int i = 0; i < 3; ++i) {
            Request request = post.irecv(1 - me.index(), into);
            post.send(1 - me.index(), data);
            post.wait(request);
        }
        int value = 0;
        Request request = post.irecv(1 - me.index(), value);
        const bool early = post.wait_for(request, 100ms).has_value();  // when the other gave up first
        post.send(1 - me.index(), 1);
        if (!early) post.wait(request);
    });
}

// ---- death ----

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
