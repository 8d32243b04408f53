// Ranks over the nodes of a cluster: what teams of threads and processes are promised, over wires. Agents are processes
// of this machine.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "nodes/cluster_team.hpp"
#include "penstock/barrier.hpp"
#include "penstock/cluster.hpp"
#include "penstock/condition.hpp"
#include "penstock/flag.hpp"
#include "penstock/message.hpp"
#include "penstock/mutex.hpp"
#include "penstock/region.hpp"
#include "penstock/remote.hpp"
#include "penstock/shared_mutex.hpp"
#include "penstock/spmd.hpp"

namespace {

using namespace penstock;
using namespace std::chrono_literals;

/// Lines that agents print.
struct Log {
    std::mutex lock;
    std::vector<std::string> lines;

    bool has(const std::string& line) {
        const std::lock_guard guard(lock);
        return std::ranges::find(lines, line) != lines.end();
    }
};

ClusterOptions on(int nodes, Log* log = nullptr) {
    ClusterOptions options;
    options.nodes = {{"workers", nodes}};
    options.machine.targets = 1;
    options.node_machine.targets = 1;
    options.listen = "unix";
    if (log != nullptr)
        options.log = [log](const std::string& line) {
            const std::lock_guard guard(log->lock);
            log->lines.push_back(line);
        };
    return options;
}

SpmdOptions over(Cluster& cluster) { return {.pin = false, .cluster = &cluster}; }

/// In ranks, whose expectations GoogleTest does not see.
void expect(bool condition, const char* what) {
    if (!condition) throw Error(what);
}

template <class Function>
void expect_error(Function&& function, const char* part) {
    try {
        function();
        ADD_FAILURE() << "nothing was thrown, where '" << part << "' was expected";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

// ---- teams ----

TEST(RanksOverNodes, run_in_blocks) {
    Log log;
    Cluster cluster(on(2, &log));
    spmd(
        5,
        [](Rank me) {
            expect(me.size() == 5 && me.substrate() == Substrate::nodes, "another team");
            for (int rank = 0; rank < 5; ++rank)
                expect(me.elsewhere(rank) == ((rank < 2) != (me.index() < 2)), "where");
            Barrier barrier(me, "all");
            barrier.arrive_and_wait();
            expect(me.process(me.index()).pid == getpid(), "its own process");
            say("rank " + std::to_string(me.index()));
        },
        over(cluster));
    for (int rank = 0; rank < 5; ++rank)
        EXPECT_TRUE(log.has("[workers." + std::to_string(rank < 2 ? 0 : 1) + "] rank " + std::to_string(rank)));
}

TEST(RanksOverNodes, run_again_and_again_and_on_fewer_nodes_than_there_are) {
    auto options = on(3);
    options.nodes.push_back({"others", 1});
    Cluster cluster(options);
    for (int size = 1; size <= 9; ++size)
        spmd(
            size,
            [size](Rank me) {
                Barrier barrier(me, "all");
                for (int i = 0; i < 5; ++i) barrier.arrive_and_wait();
                expect(me.size() == size, "another team");
            },
            over(cluster));
    auto others = over(cluster);
    others.nodes = "others";
    spmd(
        3,
        [](Rank me) {  // on one node, so locks can be had
            Mutex mutex(me, "mutex");
            const std::lock_guard guard(mutex);
            expect(me.far() == nullptr, "one node");
        },
        others);
}

TEST(RanksOverNodes, end_by_the_text_of_an_exception) {
    Cluster cluster(on(2));
    try {
        spmd(
            4,
            [](Rank me) {
                Barrier barrier(me, "all");
                if (me.index() == 3) throw Error("no more paper");
                barrier.arrive_and_wait();
            },
            over(cluster));
        ADD_FAILURE();
    } catch (const RankFailed& failed) {
        EXPECT_EQ(failed.rank(), 3);
        EXPECT_EQ(failed.others(), 3);  // which waited for it
        EXPECT_NE(std::string(failed.what()).find("no more paper"), std::string::npos) << failed.what();
    }
    spmd(2, [](Rank) {}, over(cluster));  // the cluster is as good as before
}

TEST(RanksOverNodes, are_refused_by_name) {
    Cluster cluster(on(2));
    const std::string text = "it cannot be sent";
    expect_error([&] { spmd(2, [text](Rank) {}, over(cluster)); }, "trivially copyable");
    auto options = over(cluster);
    options.nodes = "nobody";
    expect_error([&] { spmd(2, [](Rank) {}, options); }, "'nobody'");
    expect_error([&] { spmd(2, [](Rank) {}, {.substrate = Substrate::nodes}); }, "SpmdOptions::cluster");
    expect_error([&] { spmd(2, [](Rank) {}, {.nodes = "workers"}); }, "no cluster");
    expect_error([&] { spmd(2, [](Rank) {}, {.substrate = Substrate::processes, .cluster = &cluster}); }, "both");
    expect_error([&] { spmd(0, [](Rank) {}, over(cluster)); }, "1 to 256");
    expect_error(
        [] { nodes::program_of({"build", "of another program", nodes::packed(nodes::CarriedProgram{8, {}, {}})}); },
        "same build");
    expect_error([] { nodes::program_of({"cobol", "", {}}); }, "'cobol'");
    spmd(
        2,
        [](Rank me) {
            const auto refused = [](auto&& make, const std::string& what) {
                try {
                    make();
                } catch (const NotOverNodes& refusal) {
                    return std::string(refusal.what()).starts_with(what);
                }
                return false;
            };
            expect(refused([&] { Mutex mutex(me, "m"); }, "a Mutex"), "a Mutex was not refused");
            expect(refused([&] { SharedMutex mutex(me, "s"); }, "a SharedMutex"), "a SharedMutex was not refused");
            expect(refused([&] { Condition condition(me, "c"); }, "a Condition"), "a Condition was not refused");
            expect(refused([&] { me.exchange("x", 64); }, "memory 'x'"), "an exchange was not refused");
            expect(refused([&] { me.accept(1 - me.index(), "raw"); }, "memory 'raw'"), "raw memory was not refused");
        },
        over(cluster));
}

// ---- regions, flags, counters ----

TEST(RanksOverNodes, see_what_was_stored_before_a_flag) {
    Cluster cluster(on(2));
    spmd(
        2,
        [](Rank me) {
            constexpr std::size_t size = 30'000;
            if (me.index() == 0) {
                Region<std::uint32_t> inbox(me, "inbox", size);
                Counter ready(me, "ready");
                inbox.grant(1), ready.grant(1);
                inbox.freeze();
                auto taken = RemoteCounter::accept(me, 1, "taken");
                for (std::uint32_t round = 1; round <= 200; ++round) {
                    ready.wait_until(round);
                    std::mt19937 random(round);
                    for (int i = 0; i < 500; ++i) {
                        const auto index = random() % size;
                        expect(inbox[index] == index * round, "a store is missing behind its flag");
                    }
                    taken.store(round);
                }
            } else {
                auto inbox = Remote<std::uint32_t>::accept(me, 0, "inbox");
                auto ready = RemoteCounter::accept(me, 0, "ready");
                Counter taken(me, "taken");
                taken.grant(0);
                for (std::uint32_t round = 1; round <= 200; ++round) {
                    std::mt19937 random(round);
                    for (int i = 0; i < 500; ++i) {
                        const auto index = static_cast<std::uint32_t>(random() % size);
                        inbox[index] = index * round;
                    }
                    inbox.publish(ready, round);
                    taken.wait_until(round);
                }
            }
        },
        over(cluster));
}

TEST(RanksOverNodes, store_in_every_way) {
    Cluster cluster(on(2));
    spmd(
        2,
        [](Rank me) {
            constexpr std::size_t size = 200'000;
            const auto value = [](std::size_t i) { return static_cast<float>(i % 1'000) + 0.5f; };
            Barrier barrier(me, "all");
            if (me.index() == 0) {
                Region<float> region(me, "region", size);
                region.grant(1);
                barrier.arrive_and_wait();
                for (std::size_t i = 0; i < 100'000; ++i) expect(region[i] == value(i), "a long span");
                for (std::size_t row = 0; row < 10; ++row)
                    for (std::size_t column = 0; column < 30; ++column) {
                        expect(region[100'000 + row * 50 + column] == value(row * 40 + column), "a rectangle");
                        expect(region[110'000 + column * 50 + row] == value(row * 40 + column), "a transpose");
                    }
                for (std::size_t i = 0; i < 5'000; ++i) expect(region[120'000 + i] == 7, "a fill");
                for (std::size_t i = 0; i < 320; ++i) expect(region[130'000 + i] == value(i), "a batch");
                expect(region[125'000] == 0 && region[size - 1] == 3, "single elements");
                barrier.arrive_and_wait();
            } else {
                auto remote = Remote<float>::accept(me, 0, "region");
                expect(remote.size() == size && remote.owner() == 0, "another region");
                std::vector<float> values(100'000);
                for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(i);
                remote.store(0, values);
                remote.store_strided({.offset = 100'000, .rows = 10, .columns = 30, .pitch = 50}, values, 40);
                remote.store_transposed({.offset = 110'000, .rows = 30, .columns = 10, .pitch = 50}, values, 40);
                remote.fill(120'000, 5'000, 7);
                {
                    const auto batch = remote.batch(320);
                    for (std::size_t i = 0; i < 320; i += 16)
                        batch.store(130'000 + i, std::span(values).subspan(i, 16));
                }
                remote[size - 1] = 3;
                const auto outside = [&](auto&& store) {
                    try {
                        store();
                    } catch (const OutOfBounds& error) {
                        return error.size() == size;
                    }
                    return false;
                };
                expect(outside([&] { remote[size] = 1; }), "behind the end");
                expect(outside([&] { remote.store(size - 1, std::array{1.f, 2.f}); }), "over the end");
                expect(outside([&] { remote.fill(size - 1, 2, 0.f); }), "a fill over the end");
                barrier.arrive_and_wait();
                barrier.arrive_and_wait();
            }
        },
        over(cluster));
}

TEST(RanksOverNodes, leave_their_neighbours_elements_alone) {
    Cluster cluster(on(3));
    spmd(
        6,
        [](Rank me) {
            constexpr std::size_t size = 6'000;
            std::optional<Region<std::uint8_t>> region;
            if (me.index() == 0) {
                region.emplace(me, "bytes", size);
                for (int rank = 0; rank < me.size(); ++rank) region->grant(rank);
            }
            auto remote = Remote<std::uint8_t>::accept(me, 0, "bytes");
            Barrier barrier(me, "all");
            for (int round = 1; round <= 20; ++round) {
                for (auto i = static_cast<std::size_t>(me.index()); i < size; i += 6)
                    remote[i] = static_cast<std::uint8_t>(round + me.index());
                barrier.arrive_and_wait();
                if (region)
                    for (std::size_t i = 0; i < size; ++i)
                        expect((*region)[i] == round + i % 6, "an element of another");
                barrier.arrive_and_wait();
            }
        },
        over(cluster));
}

/// This process stands still for a while; what comes meanwhile waits at its wires, and then comes in any order of them.
void stand_still() {
    const int here = getpid();
    if (fork() == 0) {
        usleep(60'000);
        kill(here, SIGCONT);
        _exit(0);
    }
    kill(here, SIGSTOP);
}

/// In each round 0 stores at `last`, which stands still meanwhile, and tells 1, who tells `last`, directly or through
/// others.
void through_others(Rank me) {
    constexpr std::size_t size = 1'000'000;  // more than waits at a wire
    const int last = me.size() - 1;
    std::optional<Region<std::uint32_t>> region;
    std::optional<Remote<std::uint32_t>> remote;
    Counter mine(me, "counter");
    mine.grant((me.index() + me.size() - 1) % me.size());
    if (me.index() == last) {
        region.emplace(me, "region", size);
        region->grant(0);
    }
    if (me.index() == 0) remote.emplace(Remote<std::uint32_t>::accept(me, last, "region"));
    auto next = RemoteCounter::accept(me, (me.index() + 1) % me.size(), "counter");
    std::vector<std::uint32_t> values(size);
    for (std::uint32_t round = 1; round <= 6; ++round) {
        if (me.index() == last) {
            next.store(round);
            stand_still();
        }
        mine.wait_until(round);
        if (me.index() == 0) {
            std::this_thread::sleep_for(20ms);
            std::ranges::fill(values, round);
            remote->store(0, values);
            (*remote)[size / 2] = round + 1'000;
        }
        if (me.index() != last) {
            next.store(round);
            continue;
        }
        for (std::size_t i = 0; i < size; ++i)
            expect((*region)[i] == (i == size / 2 ? round + 1'000 : round), "the word came before the stores");
    }
}

TEST(RanksOverNodes, see_stores_through_a_third_node) {
    Cluster cluster(on(3));
    spmd(3, &through_others, over(cluster));
}

TEST(RanksOverNodes, see_stores_through_a_rank_beside_the_producer) {
    Cluster cluster(on(2));
    spmd(4, [](Rank me) { through_others(me); }, over(cluster));  // 0 and 1 on one node, 2 and 3 on the other
    Cluster wider(on(3));
    spmd(6, [](Rank me) { through_others(me); }, over(wider));
}

TEST(RanksOverNodes, see_stores_through_the_answer_to_a_question) {
    Cluster cluster(on(3));
    spmd(
        3,
        [](Rank me) {  // 0 stores at 2 and raises its own counter; 1 asks for that, and tells 2
            constexpr std::size_t size = 1'000'000;
            Counter counter(me, "counter");
            if (me.index() != 1) counter.grant(1), counter.grant(2 - me.index());
            if (me.index() == 2) {
                Region<std::uint32_t> region(me, "region", size);
                region.grant(0);
                auto first = RemoteCounter::accept(me, 0, "counter");
                for (std::uint32_t round = 1; round <= 6; ++round) {
                    first.store(2 * round - 1);
                    stand_still();
                    counter.wait_until(round);
                    expect(std::ranges::all_of(region, [&](auto each) { return each == round; }),
                           "the answer came before the stores");
                }
            } else if (me.index() == 1) {
                auto first = RemoteCounter::accept(me, 0, "counter");
                auto last = RemoteCounter::accept(me, 2, "counter");
                for (std::uint32_t round = 1; round <= 6; ++round) {
                    while (first.load() < 2 * round) expect(!me.failed(0) && !me.failed(2), "somebody has failed");
                    last.store(round);
                }
            } else {
                auto remote = Remote<std::uint32_t>::accept(me, 2, "region");
                auto last = RemoteCounter::accept(me, 2, "counter");
                for (std::uint32_t round = 1; round <= 6; ++round) {
                    counter.wait_until(2 * round - 1);
                    std::this_thread::sleep_for(20ms);
                    remote.fill(0, size, round);
                    counter.store(2 * round);
                }
            }
        },
        over(cluster));
}

TEST(RanksOverNodes, change_words_of_other_nodes) {
    Cluster cluster(on(3));
    spmd(
        6,
        [](Rank me) {
            Barrier barrier(me, "all");
            std::optional<Counter> home;
            std::optional<Flag> flag;
            if (me.index() == 0) {
                home.emplace(me, "counter");
                flag.emplace(me, "flag");
                for (int rank = 1; rank < me.size(); ++rank) home->grant(rank), flag->grant(rank);
            }
            std::uint64_t sum = 0;
            bool first = false;
            if (home) {
                for (int i = 0; i < 200; ++i) home->fetch_add(1);
                home->wait_until(1'200);
                expect(home->load() == 1'200, "an addition is missing");
                flag->wait();
                barrier.arrive_and_wait();
                flag->clear();
                barrier.arrive_and_wait();
                barrier.arrive_and_wait();
                expect(home->load() == 6, "compare_exchange");
            } else {
                auto counter = RemoteCounter::accept(me, 0, "counter");
                auto remote = RemoteFlag::accept(me, 0, "flag");
                for (int i = 0; i < 200; ++i) {
                    const auto before = counter.fetch_add(1);
                    expect(i == 0 || before > sum, "a counter went back");
                    sum = before;
                }
                while (counter.load() < 1'200) expect(!me.failed(0), "somebody has failed");
                first = !remote.test_and_set();
                expect(first || remote.is_set(), "a flag");
                barrier.arrive_and_wait();
                barrier.arrive_and_wait();
                expect(!remote.is_set(), "a flag that was cleared");
                if (me.index() == 5) counter.store(1);
                while (counter.load() >= 1'200) expect(!me.failed(0), "somebody has failed");
                for (;;) {  // one after the other
                    auto expected = static_cast<std::uint64_t>(me.index());
                    if (counter.compare_exchange(expected, static_cast<std::uint64_t>(me.index()) + 1)) break;
                    expect(expected != static_cast<std::uint64_t>(me.index()), "it is as expected");
                }
                barrier.arrive_and_wait();
            }
        },
        over(cluster));
}

TEST(RanksOverNodes, make_and_drop_many_regions) {
    Cluster cluster(on(2));
    spmd(
        2,
        [](Rank me) {
            Barrier barrier(me, "all");
            for (int round = 0; round < 50; ++round) {
                Region<int> region(me, "region", 10'000);
                region.grant(1 - me.index());
                auto remote = Remote<int>::accept(me, 1 - me.index(), "region");
                remote.fill(0, 10'000, round);
                barrier.arrive_and_wait();
                expect(std::ranges::all_of(region, [&](int each) { return each == round; }), "another round's");
            }
            try {
                static_cast<void>(Remote<int>::accept(me, 1 - me.index(), "nothing", 20ms));
                throw Error("nothing was granted");
            } catch (const GrantMissing&) {
            }
            Region<double> other(me, "other", 10);
            other.grant(1 - me.index());
            try {
                static_cast<void>(Remote<float>::accept(me, 1 - me.index(), "other"));
                throw Error("it has another type");
            } catch (const InvalidGrant&) {
            }
            barrier.arrive_and_wait();
        },
        over(cluster));
}

// ---- messages ----

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

// ---- faults ----

/// What ranks 0 and 1 wait with when rank 2 dies.
enum class Wait { flag, counter, barrier, message, send, grant, word };
constexpr const char* wait_names[] = {"flag", "counter", "barrier", "message", "send", "grant", "word"};

struct Dying : testing::TestWithParam<Wait> {};
INSTANTIATE_TEST_SUITE_P(RanksOverNodes, Dying,
                         testing::Values(Wait::flag, Wait::counter, Wait::barrier, Wait::message, Wait::send,
                                         Wait::grant, Wait::word),
                         [](const auto& each) { return wait_names[static_cast<int>(each.param)]; });

void wait_in_vain(Rank me, Wait wait, int signal) {
    Barrier barrier(me, "all");
    Messenger post(me);
    Counter counter(me, "counter");
    Flag flag(me, "flag");
    for (int rank = 0; rank < me.size(); ++rank)
        if (rank != me.index()) counter.grant(rank);
    auto of_last = me.index() == 2 ? std::nullopt : std::optional(RemoteCounter::accept(me, 2, "counter"));
    int value = me.index();
    post.send((me.index() + 1) % 3, value);
    post.recv((me.index() + 2) % 3, value);
    barrier.arrive_and_wait();
    if (me.index() == 2) {
        std::this_thread::sleep_for(50ms);  // so that the others wait
        kill(getpid(), signal);
        for (;;) pause();
    }
    try {
        std::vector<char> much(10'000'000);
        switch (wait) {
            case Wait::flag:
                flag.wait();
                break;
            case Wait::counter:
                counter.wait_until(9, Awaited::rank(2));
                break;
            case Wait::barrier:
                barrier.arrive_and_wait();
                break;
            case Wait::message:
                post.recv(2, value);
                break;
            case Wait::send:
                post.send(2, much);
                break;
            case Wait::grant:
                static_cast<void>(me.accept_anywhere(2, "never"));
                break;
            default:
                for (;;) of_last->fetch_add(1);
        }
        say("nothing was thrown");
    } catch (const RankDied& died) {
        expect(me.dead(2) && !me.dead(0) && !me.dead(1), "who is dead");
        say("told of " + std::to_string(died.rank()) + " on " + died.node());
    }
    // The others go on, and what goes to the dead one goes nowhere.
    of_last->store(7);
    if (me.index() == 0) post.send(1, 77);
    if (me.index() == 1) post.recv(0, value), expect(value == 77, "a message between those that are left");
    say("on");
}

void expect_death(Log& log, Cluster& cluster, Wait wait, int signal, const char* how) {
    const auto begun = std::chrono::steady_clock::now();
    try {
        spmd(3, [wait, signal](Rank me) { wait_in_vain(me, wait, signal); }, over(cluster));
        ADD_FAILURE();
    } catch (const RankDied& died) {
        EXPECT_EQ(died.rank(), 2);
        EXPECT_EQ(died.node(), "workers.2");
        EXPECT_NE(std::string(died.what()).find(how), std::string::npos) << died.what();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 9s);  // patience, below which it is told of a kill, is 15 s
    for (const std::string node : {"[workers.0] ", "[workers.1] "}) {
        EXPECT_TRUE(log.has(node + "told of 2 on workers.2"));
        EXPECT_TRUE(log.has(node + "on"));
    }
}

TEST_P(Dying, is_told_to_whoever_waits) {
    Log log;
    Cluster cluster(on(3, &log));
    expect_death(log, cluster, GetParam(), SIGKILL, "signal 9");
    spmd(3, [](Rank me) { Barrier(me, "all").arrive_and_wait(); }, over(cluster));  // another agent took its place
}

TEST(RanksOverNodes, are_dead_when_their_node_is_silent_for_too_long) {
    Log log;
    auto options = on(3, &log);
    options.patience = 600ms;
    Cluster cluster(options);
    expect_death(log, cluster, Wait::flag, SIGSTOP, "has died");
}

/// Ends each connection of this process, as a fault of the network would.
void cut_all() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int descriptor = std::atoi(entry.path().filename().c_str());
        sockaddr_storage peer;
        socklen_t size = sizeof peer;
        if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0) shutdown(descriptor, SHUT_RDWR);
    }
}

TEST(RanksOverNodes, lose_and_repeat_nothing_when_connections_break) {
    for (const auto* const listen : {"unix", "tcp:127.0.0.1:0"}) {
        auto options = on(2);
        options.listen = listen;
        Cluster cluster(options);
        spmd(
            4,
            [](Rank me) {
                Messenger post(me);
                Barrier barrier(me, "all");
                Counter counter(me, "counter");
                Region<int> region(me, "region", 5'000);
                const int to = (me.index() + 2) % 4;
                counter.grant(to), region.grant(to);
                auto far = RemoteCounter::accept(me, to, "counter");
                auto remote = Remote<int>::accept(me, to, "region");
                for (int round = 1; round <= 60; ++round) {
                    if (round % 5 == me.index()) cut_all();
                    remote.fill(0, 5'000, round);
                    std::vector<int> values(30'000, round * 4 + me.index()), got(values.size());
                    auto request = post.isend(to, std::span(values));
                    post.recv(to, got);
                    post.wait(request);
                    expect(got == std::vector<int>(values.size(), round * 4 + to), "a message");
                    far.fetch_add(1);
                    barrier.arrive_and_wait();
                    expect(counter.load() == static_cast<std::uint64_t>(round), "an addition is lost, or was repeated");
                    expect(std::ranges::all_of(region, [&](int each) { return each == round; }), "a store");
                    barrier.arrive_and_wait();
                }
            },
            over(cluster));
    }
}

TEST(RanksOverNodes, of_one_node_that_store_at_once_do_not_wait_for_one_anothers_bytes) {
    Cluster cluster(on(2));
    spmd(6,
         [](Rank me) {
             constexpr std::size_t size = std::size_t{1} << 20;
             constexpr int times = 80;
             Barrier barrier(me, "all");
             if (me.index() == 0) {
                 std::vector<Region<std::uint8_t>> regions;
                 for (int from = 3; from < 6; ++from) {
                     regions.emplace_back(me, "of " + std::to_string(from), size);
                     regions.back().grant(from);
                 }
                 barrier.arrive_and_wait();
                 for (const auto& region : regions)
                     expect(std::ranges::all_of(region, [](auto each) { return each == times; }),
                            "what was stored last");
                 return;
             }
             if (me.index() >= 3) {
                 auto remote = Remote<std::uint8_t>::accept(me, 0, "of " + std::to_string(me.index()));
                 std::vector<std::uint8_t> values(size);
                 for (int i = 1; i <= times; ++i) {
                     std::ranges::fill(values, static_cast<std::uint8_t>(i));
                     remote.store(0, values);
                 }
             }
             barrier.arrive_and_wait();
         },
         {.cluster = &cluster});
}

TEST(RanksOverNodes, are_held_back_when_they_store_faster_than_it_arrives) {
    Cluster cluster(on(2));
    spmd(
        2,
        [](Rank me) {
            constexpr std::size_t size = 1'000'000;
            Barrier barrier(me, "all");
            if (me.index() == 0) {
                Region<std::uint8_t> region(me, "region", size);
                region.grant(1);
                auto stops = RemoteFlag::accept(me, 1, "stops");
                const int here = getpid();
                if (fork() == 0) {
                    usleep(800'000);
                    kill(here, SIGCONT);
                    _exit(0);
                }
                stops.set();
                std::this_thread::sleep_for(20ms);
                kill(here, SIGSTOP);
                barrier.arrive_and_wait();
                expect(std::ranges::all_of(region, [](auto each) { return each == 100; }), "what was stored last");
            } else {
                Flag stops(me, "stops");
                stops.grant(0);
                auto remote = Remote<std::uint8_t>::accept(me, 0, "region");
                stops.wait();
                std::this_thread::sleep_for(100ms);
                std::atomic<int> stored{0};
                std::thread beside([&] {
                    std::vector<std::uint8_t> values(size);
                    for (int i = 1; i <= 100; ++i) {
                        std::ranges::fill(values, static_cast<std::uint8_t>(i));
                        remote.store(0, values);
                        stored = i;
                    }
                });
                std::this_thread::sleep_for(300ms);
                const int so_far = stored;
                beside.join();
                barrier.arrive_and_wait();
                expect(so_far < 60, "it waits in this process's memory");
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
