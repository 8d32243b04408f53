// What each protocol promises: every size arrives whole and in order, whatever else is under way; the same for threads
// and for processes.
#include <algorithm>
#include <array>
#include <random>

#include "penstock/message.hpp"
#include "tests/message/support.hpp"

namespace {

using namespace message_tests;

class ProtocolTest : public testing::TestWithParam<std::tuple<Substrate, Protocol>> {
  protected:
    void SetUp() override {
        if (std::get<0>(GetParam()) == Substrate::processes) SKIP_UNDER_THREAD_SANITIZER();
    }
    static MessengerOptions options() { return {.protocol = std::get<1>(GetParam()), .ring_bytes = 16 * 1024}; }
    void run(int size, const std::function<void(Rank)>& program) {
        message_tests::run(std::get<0>(GetParam()), size, program);
    }
};

std::string name_of_protocol(const testing::TestParamInfo<ProtocolTest::ParamType>& info) {
    std::string text(penstock::name(std::get<0>(info.param)));
    text += "_by_" + std::string(penstock::name(std::get<1>(info.param)));
    std::replace(text.begin(), text.end(), ' ', '_');
    return text;
}

INSTANTIATE_TEST_SUITE_P(All, ProtocolTest,
                         testing::Combine(substrates,
                                          testing::Values(Protocol::automatic, Protocol::ring, Protocol::pull,
                                                          Protocol::push, Protocol::pure_pull)),
                         name_of_protocol);

constexpr std::size_t sizes[] = {0,    1,    8,    31,   32,     33,     100,    4095,
                                 4096, 4097, 8192, 8193, 16'384, 16'385, 40'000, 1'000'003};

TEST_P(ProtocolTest, a_message_of_any_size_arrives_whole) {
    run(2, [](Rank me) {
        Messenger post(me, options());
        const int other = 1 - me.index();
        for (int turn = 0; turn < 2; ++turn) {
            for (const std::size_t bytes : sizes) {
                if (me.index() == turn) {
                    send_pattern(post, other, bytes, bytes, static_cast<std::uint32_t>(bytes));
                    std::uint64_t answer = 0;
                    post.recv(other, answer);
                    require(answer == bytes, "an answer comes back");
                } else {
                    std::vector<std::uint8_t> into(bytes + 5, 0xee);
                    const Status status = post.recv(other, into);
                    require(status.source == other && status.bytes == bytes && status.tag == bytes,
                            "the status tells what came");
                    require(std::vector<std::uint8_t>(into.begin() + static_cast<std::ptrdiff_t>(bytes), into.end()) ==
                                std::vector<std::uint8_t>(5, 0xee),
                            "nothing is written behind the message");
                    into.resize(bytes);
                    require(is_pattern(into, bytes), "the bytes are those that were sent: " + std::to_string(bytes));
                    post.send(other, std::uint64_t{bytes});
                }
            }
        }
    });
}

TEST_P(ProtocolTest, many_messages_under_way_arrive_in_the_order_in_which_they_were_sent) {
    run(2, [](Rank me) {
        Messenger post(me, options());
        std::mt19937_64 random(7);  // the same on both sides
        for (int round = 0; round < 20; ++round) {
            constexpr std::size_t messages = 100;
            std::vector<std::vector<std::uint8_t>> outgoing, incoming;
            std::vector<Request> requests;
            for (std::size_t i = 0; i < messages; ++i) {
                const std::size_t bytes = random() % 8 == 0 ? random() % 50'000 : random() % 100;
                outgoing.push_back(pattern(bytes, 2 * i + static_cast<unsigned>(me.index())));
                incoming.emplace_back(bytes);
            }
            std::mt19937_64 own(static_cast<unsigned>(me.index() + 100 * round));
            std::size_t sent = 0, received = 0;
            while (sent < messages || received < messages) {
                if (received == messages || (sent < messages && own() % 2 == 0)) {
                    requests.push_back(post.isend(1 - me.index(), outgoing[sent]));
                    ++sent;
                } else {
                    requests.push_back(post.irecv(1 - me.index(), incoming[received]));
                    ++received;
                }
            }
            post.wait_all(requests);
            for (std::size_t i = 0; i < messages; ++i)
                require(is_pattern(incoming[i], 2 * i + static_cast<unsigned>(1 - me.index())),
                        "message " + std::to_string(i) + " of round " + std::to_string(round) +
                            " is the one that was sent as such");
        }
    });
}

TEST_P(ProtocolTest, a_stream_of_blocking_sends_is_received_one_by_one) {
    run(2, [](Rank me) {
        Messenger post(me, options());
        for (std::uint64_t i = 0; i < 3'000; ++i) {
            if (me.index() == 0) {
                std::array<std::uint64_t, 8> words{};
                words.fill(i);
                post.send(1, std::span(words).first(1 + i % 8));
            } else {
                std::array<std::uint64_t, 8> words{};
                const Status status = post.recv(0, words);
                require(status.count<std::uint64_t>() == 1 + i % 8 && words[i % 8] == i, "each comes in its turn");
            }
        }
    });
}

TEST_P(ProtocolTest, what_does_not_fit_is_cut_and_told_and_the_next_one_is_whole) {
    run(2, [](Rank me) {
        Messenger post(me, options());
        for (const std::size_t bytes : {2u, 32u, 300u, 5'000u, 100'000u}) {
            if (me.index() == 0) {
                send_pattern(post, 1, bytes, 1);
                send_pattern(post, 1, bytes, 2);
                continue;
            }
            std::vector<std::uint8_t> into(bytes / 2);
            try {
                post.recv(0, into);
                require(false, "a message that is too long is told");
            } catch (const penstock::Truncated& truncated) {
                require(truncated.source() == 0 && truncated.sent() == bytes && truncated.room() == bytes / 2,
                        "with the facts");
            }
            auto expected = pattern(bytes, 1);
            expected.resize(bytes / 2);
            require(into == expected, "the beginning is there");
            into.resize(bytes);
            post.recv(0, into);
            require(is_pattern(into, 2), "the next message is whole");
        }
    });
}

TEST_P(ProtocolTest, a_send_is_complete_when_it_was_taken_though_later_ones_were_not) {
    run(2, [](Rank me) {
        Messenger post(me, options()), other(me, {.name = "other"});
        for (int turn = 0; turn < 3; ++turn) {
            auto large = pattern(100'000, 1);
            int small = turn, go = 0;
            if (me.index() == 0) {
                Request request = post.isend(1, large);
                post.isend(1, small);
                post.wait(request);
                other.send(1, go);
                other.recv(1, go);
            } else {
                post.recv(0, large);
                other.recv(0, go);
                post.recv(0, small);
                require(small == turn, "it was there all the time");
                other.send(0, go);
            }
        }
    });
}

TEST_P(ProtocolTest, answers_come_in_their_turn_among_other_messages) {
    run(2, [](Rank me) {
        // What both do is drawn from the same numbers: so many messages of one, so many of the other, of any size.
        Messenger post(me, options());
        std::mt19937_64 random(11), own(static_cast<unsigned>(me.index()));
        const bool buffered = options().protocol == Protocol::automatic || options().protocol == Protocol::ring;
        std::array<std::uint64_t, 2> sent{}, received{};
        std::vector<std::uint8_t> into(50'000);
        for (int turn = 0; turn < 2'000; ++turn) {
            const auto sender = static_cast<int>(random() % 2);
            const auto messages = random() % 8 == 0 ? random() % 50 : random() % 3;
            for (std::uint64_t i = 0; i < messages; ++i) {
                const std::size_t bytes = random() % 3 == 0 && buffered ? random() % 4'097 : random() % 33;
                auto& number = sent[static_cast<unsigned>(sender)];
                if (me.index() == sender)
                    send_pattern(post, 1 - sender, bytes, number, static_cast<std::uint32_t>(bytes));
                ++number;
            }
            // Some are left lying for a while, so that answers and later messages meet.
            for (unsigned from : {0u, 1u}) {
                const auto lying = random() % 4 == 0 ? std::uint64_t{0} : random() % 3;
                for (auto& number = received[from]; number + lying < sent[from]; ++number) {
                    if (me.index() == static_cast<int>(from)) continue;
                    const Status status = post.recv(own() % 2 == 0 ? static_cast<int>(from) : any_source, into);
                    std::vector<std::uint8_t> got(into.begin(),
                                                  into.begin() + static_cast<std::ptrdiff_t>(status.bytes));
                    require(status.tag == status.bytes && is_pattern(got, number),
                            "each is the one that was sent as such");
                }
            }
        }
    });
}

TEST_P(ProtocolTest, everybody_sends_to_everybody_at_once) {
    run(5, [](Rank me) {
        Messenger post(me, options());
        for (const std::size_t bytes : {8u, 3'000u, 60'000u}) {
            std::vector<std::vector<std::uint8_t>> outgoing, incoming;
            for (int rank = 0; rank < me.size(); ++rank) {
                outgoing.push_back(pattern(bytes, static_cast<unsigned>(me.index() * 10 + rank)));
                incoming.emplace_back(bytes);
            }
            for (int rank = 0; rank < me.size(); ++rank) post.irecv(rank, incoming[static_cast<unsigned>(rank)]);
            for (int rank = 0; rank < me.size(); ++rank) post.isend(rank, outgoing[static_cast<unsigned>(rank)]);
            post.wait_all();
            for (int rank = 0; rank < me.size(); ++rank)
                require(
                    is_pattern(incoming[static_cast<unsigned>(rank)], static_cast<unsigned>(rank * 10 + me.index())),
                    "each has what was meant for it");
        }
    });
}

TEST_P(ProtocolTest, a_receive_from_anybody_gets_each_message_of_each_rank_once_and_in_order) {
    run(4, [](Rank me) {
        constexpr std::uint32_t messages = 300;
        Messenger post(me, options());
        if (me.index() != 0) {
            for (std::uint32_t i = 0; i < messages; ++i)
                send_pattern(post, 0, i * 7 % 9'000, static_cast<unsigned>(me.index()), i);
            return;
        }
        std::array<std::uint32_t, 4> next{};
        std::vector<std::uint8_t> into(9'000);
        for (std::uint32_t i = 0; i < 3 * messages; ++i) {
            const Status status = post.recv(any_source, into);
            auto& expected = next[static_cast<unsigned>(status.source)];
            require(status.tag == expected, "those of one rank come in order");
            require(status.bytes == expected * 7 % 9'000, "the size is right");
            std::vector<std::uint8_t> got(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(status.bytes));
            require(is_pattern(got, static_cast<unsigned>(status.source)), "the bytes are the source's");
            ++expected;
        }
        require(next == std::array<std::uint32_t, 4>{0, messages, messages, messages}, "none is lost");
    });
}

}  // namespace
