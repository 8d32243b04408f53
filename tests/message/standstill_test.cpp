// Ranks that wait for one another are told so (contract 16), and those that only wait long are not.
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "penstock/message.hpp"
#include "tests/message/support.hpp"

namespace {

using namespace message_tests;
using penstock::RankLost;

class StandstillTest : public TeamTest {};
INSTANTIATE_TEST_SUITE_P(All, StandstillTest, substrates, name_of);

/// Runs the team and expects of each rank that is named that it is told of ranks that wait for one another.
void expect_standstill(Substrate substrate, int size, const std::string& words,
                       std::function<void(Messenger&, int)> waits) {
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
        require(told.find(words) != std::string::npos,
                "rank " + std::to_string(me.index()) + " was told '" + told + "'");
    });
}

TEST_P(StandstillTest, ranks_that_receive_from_one_another_in_a_circle_are_told) {
    for (const int size : {2, 4})
        expect_standstill(GetParam(), size, "rank 0 for a message of rank 1", [size](Messenger& post, int me) {
            int value = 0;
            post.recv((me + 1) % size, value);
        });
}

TEST_P(StandstillTest, ranks_that_send_to_one_another_at_once_are_told_and_their_memory_is_theirs_again) {
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

TEST_P(StandstillTest, a_receive_from_anybody_that_all_others_wait_for_is_told) {
    expect_standstill(GetParam(), 3, "for a message of anybody", [](Messenger& post, int me) {
        int value = 0;
        if (me == 1) post.recv(any_source, value);
        else if (me == 0) post.probe(1);
        else post.recv(1, value);
    });
}

TEST_P(StandstillTest, ranks_that_wait_long_for_one_that_works_are_left_in_peace) {
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

/// Ends a wait by an exception that is none of Penstock's, when the wait has lasted long enough to be written down.
struct EndsLongWaits final : penstock::team::Interruption {
    struct Ended {};
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    void look() override {
        if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds{100}) throw Ended();
    }
};

TEST_P(StandstillTest, a_rank_whose_wait_was_ended_by_an_exception_is_not_taken_for_one_that_still_waits) {
    message_tests::run(GetParam(), 3, [&](Rank me) {
        Messenger post(me);
        int value = 0;
        if (me.index() == 0) {
            EndsLongWaits ending;
            me.set_interruption(&ending);
            bool ended = false;
            try {
                static_cast<void>(post.probe(1));
            } catch (const EndsLongWaits::Ended&) {
                ended = true;
            }
            me.set_interruption(nullptr);
            require(ended, "the wait was ended");
            post.recv(2, value);
            post.send(1, value);
        } else if (me.index() == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds{200});
            post.recv(0, value);
            require(value == 7, "the message came");
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds{600});
            post.send(0, 7);
        }
    });
}

}  // namespace
