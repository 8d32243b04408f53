// What a rank writes that cannot be is refused by whoever reads it, with a typed error (contract 19).
#include <functional>
#include <memory>
#include <thread>

#include "message/mailbox.hpp"
#include "message/segments.hpp"
#include "penstock/message.hpp"
#include "tests/message/support.hpp"

namespace {

using namespace message_tests;
using penstock::InvalidMessage;
using penstock::RankLost;
using penstock::message::Envelope;
using penstock::message::Mailbox;
using penstock::message::Way;

class NonsenseTest : public TeamTest {};
INSTANTIATE_TEST_SUITE_P(All, NonsenseTest, substrates, name_of);

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
            me.wake(0);
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

TEST_P(NonsenseTest, headers_that_cannot_be_are_refused) {
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
    forged("size in the header", envelope(33, Way::asking, 0));
    expect_refused(
        GetParam(), "size in the header", [&](Forger& forger) { forger.send(envelope(4097, Way::asking, 0)); },
        Protocol::automatic);
    if (GetParam() == Substrate::processes) {  // threads of one process must trust one another with addresses
        forged("way", envelope(100, Way::parcel, 0x1234));
        forged("address to fetch from", envelope(100, Way::pull, 0x10));
    }
}

TEST_P(NonsenseTest, counters_that_cannot_be_are_refused) {
    expect_refused(GetParam(), "count of bytes filled", [](Forger& forger) {
        forger.his_box.lane(1).inward.filled.cells.store(1'000'000);
        forger.send({100, 0, Way::ring_pieces, {}, {}, {0, 0, 0, 0}});
    });
    for (const bool bytes : {false, true}) {
        message_tests::run(GetParam(), 2, [&](Rank me) {
            const MessengerOptions options{.protocol = Protocol::ring, .ring_bytes = 4096};
            if (me.index() == 1) {
                Forger forger(me, options);
                auto& outward = forger.his_box.lane(1).outward;
                (bytes ? outward.freed.cells : outward.credits.completed).store(1'000'000);
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

TEST_P(NonsenseTest, a_header_that_vanishes_while_its_message_is_received_is_refused) {
    expect_refused(GetParam(), "number of a header", [](Forger& forger) {
        forger.send({100, 0, Way::ring_pieces, {}, {}, {0, 0, 0, 0}});
        auto& filled = forger.his_box.lane(1).inward.filled.cells;
        filled.store(50, std::memory_order_release);
        while (forger.own_box.lane(0).outward.freed.cells.load(std::memory_order_acquire) < 50)
            std::this_thread::yield();
        forger.his_box.slots(1)[0].sequence.store(0, std::memory_order_release);
        filled.store(100, std::memory_order_release);
    });
}

TEST_P(NonsenseTest, a_peer_is_told_that_nothing_more_is_exchanged_with_it) {
    message_tests::run(GetParam(), 2, [](Rank me) {
        const MessengerOptions options{.protocol = Protocol::ring, .ring_bytes = 4096};
        if (me.index() == 1) {
            Forger forger(me, options);
            auto& closed = forger.his_box.lane(1).closed;
            require(closed.load() == 0, "not yet");
            forger.send(Envelope{8, 0, Way::none, {}, {}, {}});
            while (me.accept(0, "told", 0, 10s).size() == 0) {
            }
            require(closed.load() == 1, "now");
            return;
        }
        Messenger post(me, options);
        int value = 0;
        require_throws<InvalidMessage>([&] { post.recv(1, value); }, "nonsense");
        auto told = me.make("told", 64);
        me.grant(told, 1);
        try {
            me.accept(1, "end");
        } catch (const RankLost&) {
        }
    });
}

struct Interrupts final : penstock::team::Interruption {
    struct It {};
    void look() override { throw It(); }
};

TEST_P(NonsenseTest, a_messenger_waits_for_no_copy_that_will_not_go_on_and_no_interruption_ends_its_end) {
    message_tests::run(GetParam(), 2, [](Rank me) {
        const MessengerOptions options{.protocol = Protocol::pull, .ring_bytes = 4096};
        if (me.index() == 1) {
            Forger forger(me, options);
            forger.own_box.lane(0).can_fetch.store(1);
            auto ready = me.make("ready", 64);
            me.grant(ready, 0);
            while (forger.own_box.slots(0)[0].sequence.load(std::memory_order_acquire) == 0) std::this_thread::yield();
            require(forger.his_box.lane(1).outward.fetch.begin(0, 1), "it begins to fetch");
            auto begun = me.make("begun", 64);
            me.grant(begun, 0);
            std::this_thread::sleep_for(100ms);
            forger.own_box.lane(0).closed.store(1, std::memory_order_release);  // and breaks off instead
            me.wake(0);
            me.accept(0, "end", 0, 10s);
            return;
        }
        const auto data = pattern(100'000, 1);
        auto post = std::make_unique<Messenger>(me, options);
        me.accept(1, "ready");
        post->isend(1, data);
        me.accept(1, "begun");
        Interrupts interrupts;
        me.set_interruption(&interrupts);
        post.reset();
        require(me.set_interruption(nullptr) == &interrupts, "later waits can be interrupted again");
        auto end = me.make("end", 64);
        me.grant(end, 1);
        try {
            me.accept(1, "never");
        } catch (const RankLost&) {
        }
    });
}

TEST_P(NonsenseTest, answers_that_cannot_be_are_refused) {
    const auto answered = [&](const std::string& field, std::uint16_t before, std::uint64_t bytes,
                              Protocol protocol = Protocol::ring) {
        message_tests::run(GetParam(), 2, [&](Rank me) {
            const MessengerOptions options{.protocol = protocol, .ring_bytes = 4096};
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
    answered("size in the header", 0, 4097, Protocol::automatic);
    expect_refused(GetParam(), "way", [](Forger& forger) { forger.send(Envelope{4, 0, Way::answer, {}, {}, {}}); });
}

TEST_P(NonsenseTest, a_vector_for_which_there_is_no_memory_is_refused_and_its_message_stays) {
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

TEST(NonsenseOfProcessesTest, segments_that_cannot_be_are_refused) {
    SKIP_UNDER_THREAD_SANITIZER();
    const auto forged = [&](const std::string& field, std::uint64_t bytes, std::uint64_t number, std::uint64_t offset) {
        message_tests::run(Substrate::processes, 2, [&](Rank me) {
            const MessengerOptions options{.protocol = Protocol::ring, .ring_bytes = 4096};
            if (me.index() == 1) {
                Forger forger(me, options);
                auto segment =
                    me.make(penstock::message::segment_name(options.name, 0), 4096, penstock::message::segment_kind);
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

}  // namespace
