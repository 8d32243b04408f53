// Messages between ranks: to oneself, from anybody, looked at, handed over, waited for one by one and together; the
// same for threads and for processes.
#include "penstock/message.hpp"

#include <sys/resource.h>

#include <array>
#include <numeric>
#include <thread>

#include "tests/message/support.hpp"

namespace {

using namespace message_tests;

constexpr std::size_t sizes[] = {0,    1,    8,    31,   32,     33,     100,    4095,
                                 4096, 4097, 8192, 8193, 16'384, 16'385, 40'000, 1'000'003};

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
                require(length == 0 || same || me.substrate() == Substrate::processes,
                        "between threads without a copy");
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
                if (count == 100'000 && round > 0)
                    require(numbers.data() == before, "what was let go of is used again");
                if (count == 100'000) before = numbers.data();
                if (me.index() == 0) {
                    std::iota(numbers.begin(), numbers.end(), round);
                    for (int to : {1, 2}) post.send(to, numbers);
                    for (int to : {1, 2}) post.send(to, numbers.elements().last(count / 2));  // from any place in it
                } else {
                    post.recv(0, numbers);
                    require(numbers[0] == round && numbers[count - 1] == round + static_cast<double>(count) - 1,
                            "all of it");
                    const auto half = post.recv_vector<double>(0);
                    require(half.size() == count / 2 && (half.empty() || half.back() == numbers[count - 1]),
                            "a part of it");
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

TEST_P(MessageTest, a_long_message_is_received_whether_its_sender_looks_or_not) {
    if (GetParam() == Substrate::processes) GTEST_SKIP() << "not where the kernel keeps processes from one another";
    run(2, [](Rank me) {
        Messenger post(me), other(me, {.name = "other"});
        for (int turn = 0; turn < 20; ++turn) {
            auto data = pattern(300'000, static_cast<std::uint64_t>(me.index() == 0 ? turn : 100));
            int go = 0;
            if (me.index() == 0) {
                Request request = post.isend(1, data);
                other.recv(1, go);  // which sees to nothing of `post`
                post.wait(request);
            } else {
                post.recv(0, data);
                other.send(0, go);
            }
            require(is_pattern(data, static_cast<std::uint64_t>(turn)), "it is whole");
        }
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
