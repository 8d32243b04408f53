// Messages between ranks: every size by every protocol, in order, several under way, to oneself, from anybody; the same
// for threads and for processes.
#include "penstock/message.hpp"

#include <sys/resource.h>

#include <array>
#include <numeric>
#include <random>
#include <thread>

#include "tests/message/support.hpp"

namespace {

using namespace message_tests;

// ---- every protocol ----

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
                const std::size_t bytes = random() % 16 == 0 && buffered ? random() % 300 : random() % 33;
                auto& number = sent[static_cast<unsigned>(sender)];
                if (me.index() == sender) send_pattern(post, 1 - sender, bytes, number, static_cast<std::uint32_t>(bytes));
                ++number;
            }
            // Some are left lying for a while, so that answers and later messages meet.
            for (unsigned from : {0u, 1u}) {
                const auto lying = random() % 4 == 0 ? std::uint64_t{0} : random() % 3;
                for (auto& number = received[from]; number + lying < sent[from]; ++number) {
                    if (me.index() == static_cast<int>(from)) continue;
                    const Status status = post.recv(own() % 2 == 0 ? static_cast<int>(from) : any_source, into);
                    std::vector<std::uint8_t> got(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(status.bytes));
                    require(status.tag == status.bytes && is_pattern(got, number), "each is the one that was sent as such");
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

// ---- once for each substrate ----

class MessageTest : public TeamTest {};
INSTANTIATE_TEST_SUITE_P(All, MessageTest, substrates, name_of);

TEST_P(MessageTest, messages_to_oneself_need_nobody_else) {
    run(1, [](Rank me) {
        Messenger post(me);
        for (const std::size_t bytes : sizes) {
            std::vector<std::uint8_t> into(bytes);
            Request early = post.irecv(0, into);
            send_pattern(post, 0, bytes, 3, 9);
            const Status status = post.wait(early);
            require(status.source == 0 && status.bytes == bytes && status.tag == 9 && is_pattern(into, 3),
                    "a posted receive gets it");
            send_pattern(post, 0, bytes, 4);
            send_pattern(post, 0, bytes, 5);
            require(post.iprobe(0)->bytes == bytes, "it can be looked at");
            require(is_pattern(post.recv_vector<std::uint8_t>(any_source), 4), "they wait until they are received");
            post.recv(0, into);
            require(is_pattern(into, 5), "in order");
        }
        require(!post.iprobe(any_source), "nothing is left");
    });
}

TEST_P(MessageTest, a_wait_for_oneself_that_can_never_end_is_refused) {
    run(1, [](Rank me) {
        Messenger post(me);
        int value = 0;
        require_throws<penstock::WouldDeadlock>([&] { post.recv(0, value); }, "a receive from oneself of nothing");
        require_throws<penstock::WouldDeadlock>([&] { post.recv(any_source, value); },
                                                "a receive from anybody where nobody is");
        require_throws<penstock::WouldDeadlock>([&] { post.probe(0); }, "a look for what was never sent");
        Request request = post.irecv(0, value);
        require(!post.wait_for(request, 10ms), "a wait that ends may be tried");
        post.send(0, 5);
        post.wait(request);
        require(value == 5, "and tried again");
    });
}

TEST_P(MessageTest, probing_tells_of_a_message_and_leaves_it) {
    run(2, [](Rank me) {
        Messenger post(me);
        if (me.index() == 0) {
            post.send(1, std::vector<float>(100, 1.5f), 42);
            post.send(1, 7);
            return;
        }
        for (int i = 0; i < 3; ++i) {
            const Status status = post.probe(i == 1 ? any_source : 0);
            require(status.source == 0 && status.count<float>() == 100 && status.tag == 42,
                    "what stands first is told");
            require(post.iprobe(0).has_value() && post.iprobe(any_source)->tag == 42, "without waiting too");
        }
        std::vector<float> into(post.probe(0).count<float>());
        post.recv(0, into);
        require(into == std::vector<float>(100, 1.5f), "it is still there");
        int seven = 0;
        post.recv(0, seven);
        require(seven == 7 && !post.iprobe(0) && !post.iprobe(any_source), "nothing else is");
    });
}

TEST_P(MessageTest, an_earlier_receive_for_anybody_comes_before_a_later_one_for_the_source) {
    run(2, [](Rank me) {
        Messenger post(me);
        if (me.index() == 0) {
            post.send(1, 1);
            post.send(1, 2);
            post.send(1, 3);
            return;
        }
        int first = 0, second = 0, third = 0;
        Request any = post.irecv(any_source, first);
        Request named = post.irecv(0, second);
        Request later = post.irecv(any_source, third);
        require(post.wait(later).source == 0 && third == 3, "the third receive gets the third message");
        require(first == 1 && second == 2, "and the first two their own");
        post.wait(any);
        post.wait(named);
    });
}

TEST_P(MessageTest, a_rank_that_sends_much_does_not_keep_others_from_being_received) {
    run(3, [](Rank me) {
        Messenger post(me);
        if (me.index() != 0) {
            for (int i = 0; i < 50; ++i) post.send(0, i);
            post.send(0, -1);
            return;
        }
        // All that both sent first is there.
        while (!post.iprobe(1) || !post.iprobe(2)) std::this_thread::yield();
        std::this_thread::sleep_for(50ms);
        std::array<int, 3> of{};
        for (int i = 0; i < 20; ++i) {
            int value = 0;
            ++of[static_cast<unsigned>(post.recv(any_source, value).source)];
        }
        require(of[1] == 10 && of[2] == 10, "each has its turn");
        for (int i = 20; i < 102; ++i) {
            int value = 0;
            post.recv(any_source, value);
        }
    });
}

TEST_P(MessageTest, a_vector_of_any_length_is_received_and_one_that_is_handed_over_arrives) {
    run(2, [](Rank me) {
        Messenger post(me);
        for (const std::size_t length : {0u, 1u, 3u, 1'000u, 100'000u}) {
            std::vector<double> numbers(length);
            std::iota(numbers.begin(), numbers.end(), 0.5);
            if (me.index() == 0) {
                const auto copy = numbers;
                post.send(1, numbers);
                require(numbers == copy, "a vector that is sent stays as it is");
                const auto* const data = numbers.data();
                post.send(1, std::move(numbers), 3);
                post.send(1, reinterpret_cast<std::uintptr_t>(data));
            } else {
                require(post.recv_vector<double>(0) == numbers, "copied");
                Status status;
                const auto handed = post.recv_vector<double>(any_source, &status);
                require(handed == numbers && status.tag == 3 && status.source == 0, "handed over");
                std::uintptr_t address = 0;
                post.recv(0, address);
                const bool same = reinterpret_cast<std::uintptr_t>(handed.data()) == address;
                // Between processes the same address means nothing: their heaps are copies of one another.
                require(length == 0 || same || me.substrate() == Substrate::processes, "between threads without a copy");
            }
        }
    });
}

TEST_P(MessageTest, memory_of_the_messenger_is_sent_and_received_as_any_other_and_used_again) {
    run(3, [](Rank me) {
        Messenger post(me);
        const double* before = nullptr;
        for (int round = 0; round < 3; ++round) {
            for (const std::size_t count : {std::size_t{1}, std::size_t{4'000}, std::size_t{100'000}}) {
                auto numbers = post.allocate<double>(count);
                require(numbers.size() == count && numbers[count - 1] == 0, "it is zero at first");
                if (count == 100'000 && round > 0) require(numbers.data() == before, "what was let go of is used again");
                if (count == 100'000) before = numbers.data();
                if (me.index() == 0) {
                    std::iota(numbers.begin(), numbers.end(), round);
                    for (int to : {1, 2}) post.send(to, numbers);
                    for (int to : {1, 2}) post.send(to, numbers.elements().last(count / 2));  // from any place in it
                } else {
                    post.recv(0, numbers);
                    require(numbers[0] == round && numbers[count - 1] == round + static_cast<double>(count) - 1, "all of it");
                    const auto half = post.recv_vector<double>(0);
                    require(half.size() == count / 2 && (half.empty() || half.back() == numbers[count - 1]), "a part of it");
                }
            }
        }
        require_throws<penstock::UsageError>([&] { post.allocate<int>(0); }, "nothing");
        require_throws<penstock::Error>([&] { post.allocate<int>(std::size_t(-1) / 3); }, "more than there is");
        auto kept = post.allocate<int>(10);
        auto moved = std::move(kept);
        kept = std::move(moved);
        require(kept.size() == 10 && kept.data() != nullptr && moved.empty(), "it can be moved");
    });
}

TEST_P(MessageTest, what_is_handed_over_can_be_received_as_any_other_message) {
    run(2, [](Rank me) {
        Messenger post(me);
        if (me.index() == 0) {
            post.send(1, std::vector<std::uint32_t>{1, 2, 3, 4});
            post.send(1, std::vector<std::uint32_t>{5, 6, 7, 8});
            post.send(1, std::vector<std::uint32_t>{9});
            return;
        }
        std::array<std::uint32_t, 4> into{};
        post.recv(0, into);
        require(into == std::array<std::uint32_t, 4>{1, 2, 3, 4}, "into memory of the receiver");
        const auto pairs = post.recv_vector<std::uint64_t>(0);
        require(pairs.size() == 2 && static_cast<std::uint32_t>(pairs[0]) == 5, "as elements of another type");
        require_throws<penstock::UsageError>([&] { post.recv_vector<std::uint64_t>(0); }, "half an element is refused");
        require(post.recv_vector<std::uint32_t>(0) == std::vector<std::uint32_t>{9}, "and stays where it is");
    });
}

TEST_P(MessageTest, vectors_that_nobody_takes_are_freed) {  // the sanitizers look for what is left
    run(3, [](Rank me) {
        Messenger post(me);
        if (me.index() == 0) return;
        try {
            for (int i = 0; i < 10; ++i) post.send(0, std::vector<int>(1'000, i));
            post.send(3 - me.index(), std::vector<int>(10, 1));
        } catch (const penstock::RankLost&) {  // which it is
        } catch (const penstock::GrantMissing&) {
        }
    });
}

TEST_P(MessageTest, one_waits_for_one_of_some_and_for_all) {
    run(3, [](Rank me) {
        Messenger post(me);
        if (me.index() != 0) {
            int go = 0;
            post.recv(0, go);
            for (int i = 0; i < 4; ++i) post.send(0, 10 * me.index() + i);
            return;
        }
        std::array<std::array<int, 4>, 2> into{};
        std::vector<Request> requests;
        for (unsigned i = 0; i < 4; ++i)
            for (unsigned rank : {0u, 1u}) requests.push_back(post.irecv(static_cast<int>(rank) + 1, into[rank][i]));
        require(!post.test(requests[0]) && requests[0], "nothing has come yet");
        require(!post.wait_for(requests[1], 5ms) && requests[1], "nor soon");
        post.send(1, 1);
        require(post.wait(requests[0]).source == 1 && !requests[0], "one");
        require(post.wait(requests[0]).source == -1, "a request that was waited for is empty");
        post.wait_all_of(1);
        require(into[0] == std::array<int, 4>{10, 11, 12, 13}, "all of one peer");
        require(into[1] == std::array<int, 4>{}, "the other has not even begun");
        require_throws<penstock::UsageError>([&] { post.wait(requests[2]); }, "a request is waited for once");
        post.send(2, 1);
        while (!post.test(requests[1])) std::this_thread::yield();
        require(into[1][0] == 20, "by asking again and again");
        post.wait_all();
        require(into[1] == std::array<int, 4>{20, 21, 22, 23}, "all of everybody");
    });
}

TEST_P(MessageTest, a_failure_among_several_is_told_when_all_are_complete) {
    run(2, [](Rank me) {
        Messenger post(me);
        if (me.index() == 0) {
            for (int i = 0; i < 3; ++i) post.send(1, std::array<int, 4>{i, i, i, i});
            return;
        }
        std::array<int, 4> first{}, third{};
        int second = 0;
        std::array requests{post.irecv(0, first), post.irecv(0, second), post.irecv(0, third)};
        require_throws<penstock::Truncated>([&] { post.wait_all(requests); }, "the second is too long");
        require(first[3] == 0 && second == 1 && third[3] == 2, "the others are complete");
    });
}

TEST_P(MessageTest, several_messengers_of_a_rank_do_not_meet) {
    run(2, [](Rank me) {
        Messenger one(me, {.name = "one"}), two(me, {.name = "two"});
        if (me.index() == 0) {
            one.send(1, 1);
            two.send(1, 2);
        } else {
            int value = 0;
            two.recv(0, value);
            require(value == 2, "the second's");
            one.recv(0, value);
            require(value == 1, "the first's");
        }
    });
}

TEST_P(MessageTest, more_ranks_than_processors_get_on) {
    run(12, [](Rank me) {
        Messenger post(me);
        const int next = (me.index() + 1) % me.size(), before = (me.index() + me.size() - 1) % me.size();
        std::uint64_t token = 0;
        for (int round = 0; round < 50; ++round) {
            if (me.index() == 0) post.send(next, ++token);
            post.recv(before, token);
            if (me.index() != 0) post.send(next, ++token);
        }
        require(me.index() != 0 || token == 50u * 12, "the token was counted once by each");
    });
}

TEST_P(MessageTest, an_idle_receiver_sleeps_and_is_woken) {
    run(2, [](Rank me) {
        Messenger post(me);
        if (me.index() == 0) {
            for (int i = 0; i < 5; ++i) {
                std::this_thread::sleep_for(100ms);
                post.send(1, i);
            }
            return;
        }
        rusage before{}, after{};
        getrusage(RUSAGE_THREAD, &before);
        for (int i = 0; i < 5; ++i) {
            int value = -1;
            post.recv(0, value);
            require(value == i, "each wakes it");
        }
        getrusage(RUSAGE_THREAD, &after);
        const auto microseconds = [](timeval time) { return time.tv_sec * 1'000'000 + time.tv_usec; };
        require(microseconds(after.ru_utime) + microseconds(after.ru_stime) - microseconds(before.ru_utime) -
                        microseconds(before.ru_stime) <
                    200'000,
                "it burns little of 500 ms");
    });
}

// ---- what does not compile ----

template <class R>
concept can_isend = requires(Messenger& post, R&& range) { post.isend(0, std::forward<R>(range)); };
template <class R>
concept can_send = requires(Messenger& post, R&& range) { post.send(0, std::forward<R>(range)); };
template <class R>
concept can_recv = requires(Messenger& post, R&& range) { post.recv(0, std::forward<R>(range)); };

static_assert(can_isend<std::vector<int>&> && can_isend<std::span<const int>> && can_isend<const int&>);
static_assert(!can_isend<std::vector<int>> && !can_isend<int>, "a temporary would be gone before it is sent");
static_assert(can_send<std::vector<int>> && can_send<int> && !can_send<int*> && !can_send<std::vector<std::string>>);
static_assert(can_recv<std::vector<int>&> && can_recv<std::span<int>> && can_recv<int&>);
static_assert(!can_recv<std::span<const int>> && !can_recv<const int&> && !can_recv<const std::vector<int>&>);

}  // namespace
