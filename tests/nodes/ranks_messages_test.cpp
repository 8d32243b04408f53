// Messages between ranks on several nodes.
#include "nodes/ranks_support.hpp"

namespace {

using namespace ranks;

void exchange_messages(Rank me) {
    Messenger post(me);
    for (const std::size_t bytes : {0, 1, 8, 32, 33, 100, 4'096, 4'097, 70'000, 300'000, 2'000'000}) {
        // Everybody to everybody.
        std::vector<std::vector<std::uint8_t>> sent, got(static_cast<std::size_t>(me.size()));
        std::vector<Request> requests;
        for (int rank = 0; rank < me.size(); ++rank) {
            got[static_cast<std::size_t>(rank)].resize(bytes);
            sent.emplace_back(bytes);
            for (std::size_t i = 0; i < bytes; ++i)
                sent.back()[i] = static_cast<std::uint8_t>(i * 7 + static_cast<std::size_t>(me.index() * 31 + rank));
        }
        for (int rank = 0; rank < me.size(); ++rank) {
            requests.push_back(post.irecv(rank, std::span(got[static_cast<std::size_t>(rank)])));
            requests.push_back(post.isend(rank, std::span(sent[static_cast<std::size_t>(rank)]), 5));
        }
        post.wait_all();
        for (int rank = 0; rank < me.size(); ++rank)
            for (std::size_t i = 0; i < bytes; ++i)
                expect(got[static_cast<std::size_t>(rank)][i] ==
                           static_cast<std::uint8_t>(i * 7 + static_cast<std::size_t>(rank * 31 + me.index())),
                       "a byte of a message");
    }
    // In order, many, from anybody; vectors, probes, and what is too long.
    const int next = (me.index() + 1) % me.size(), before = (me.index() + me.size() - 1) % me.size();
    for (int i = 0; i < 500; ++i) {
        post.send(next, i, static_cast<std::uint32_t>(i));
        int value = -1;
        const auto status = post.recv(any_source, value);
        expect(value == i && status.tag == static_cast<std::uint32_t>(i) && status.source == before, "the order");
    }
    post.send(next, std::vector<double>(1'000, me.index()));
    expect(post.probe(before).count<double>() == 1'000, "a probe");
    expect(post.recv_vector<double>(before) == std::vector<double>(1'000, before), "a vector");
    post.send(next, std::array{1, 2, 3});
    std::array<int, 2> two{};
    try {
        post.recv(before, two);
        throw Error("it was too long");
    } catch (const Truncated& truncated) {
        expect(truncated.sent() == 12 && two[1] == 2, "what fits");
    }
    Barrier barrier(me, "end");
    barrier.arrive_and_wait();
}

TEST(RanksOverNodes, exchange_messages) {
    Cluster cluster(on(3));
    spmd(5, &exchange_messages, over(cluster));
}

TEST(RanksOverNodes, exchange_messages_by_every_protocol) {
    Cluster cluster(on(2));
    for (const auto protocol : {Protocol::ring, Protocol::pull, Protocol::push, Protocol::pure_pull})
        spmd(
            3,
            [protocol](Rank me) {
                Messenger post(me, {.protocol = protocol});
                const int next = (me.index() + 1) % 3, before = (me.index() + 2) % 3;
                for (const std::size_t count : {1, 100, 100'000}) {
                    std::vector<int> values(count, me.index()), got(count);
                    auto request = post.isend(next, std::span(values));
                    post.recv(before, got);
                    post.wait(request);
                    expect(got == std::vector<int>(count, before), "a message");
                }
            },
            over(cluster));
}

TEST(RanksOverNodes, publish_stores_by_a_message) {
    Cluster cluster(on(3));
    spmd(
        3,
        [](Rank me) {  // 0 stores at 2, writes to 1, who writes to 2
            Messenger post(me);
            constexpr std::size_t size = 50'000;
            if (me.index() == 2) {
                Region<int> region(me, "region", size);
                region.grant(0);
                for (int round = 1; round <= 50; ++round) {
                    int value = 0;
                    post.recv(1, value);
                    expect(value == round && std::ranges::all_of(region, [&](int each) { return each == round; }),
                           "the message came before the stores");
                    post.send(0, value);
                }
            } else if (me.index() == 1) {
                for (int round = 1; round <= 50; ++round) {
                    int value = 0;
                    post.recv(0, value);
                    post.send(2, value);
                }
            } else {
                auto remote = Remote<int>::accept(me, 2, "region");
                for (int round = 1; round <= 50; ++round) {
                    remote.fill(0, size, round);
                    post.send(1, round);
                    int value = 0;
                    post.recv(2, value);
                }
            }
        },
        over(cluster));
}

TEST(RanksOverNodes, are_held_back_by_a_slow_receiver) {
    Cluster cluster(on(2));
    spmd(
        2,
        [](Rank me) {
            Messenger post(me);
            Barrier barrier(me, "all");
            std::vector<std::uint8_t> much(8'000'000, 3);
            if (me.index() == 0) {
                auto request = post.isend(1, std::span(much));
                std::this_thread::sleep_for(300ms);
                expect(!post.test(request), "it went off to nowhere");
                barrier.arrive_and_wait();
                post.wait(request);
            } else {
                barrier.arrive_and_wait();
                expect(post.recv_vector<std::uint8_t>(0) == much, "what was sent");
            }
        },
        over(cluster));
}

TEST(RanksOverNodes, are_told_that_a_messenger_is_closed) {
    Cluster cluster(on(2));
    spmd(
        2,
        [](Rank me) {
            Barrier barrier(me, "all");
            if (me.index() == 0) {
                {
                    Messenger post(me);
                    post.send(1, 42);
                }
                barrier.arrive_and_wait();
            } else {
                Messenger post(me);
                int value = 0;
                post.recv(0, value);
                expect(value == 42, "what was sent before comes first");
                try {
                    post.recv(0, value);
                    throw Error("nothing was sent");
                } catch (const MessengerClosed& closed) {
                    expect(closed.rank() == 0, "another one");
                }
                barrier.arrive_and_wait();
            }
        },
        over(cluster));
}

TEST(RanksOverNodes, run_beside_another_team) {
    Cluster cluster(on(2));
    std::thread other([&] { spmd(4, [](Rank me) { exchange_messages(me); }, over(cluster)); });
    spmd(4, [](Rank me) { through_others(me); }, over(cluster));
    other.join();
}

}  // namespace
