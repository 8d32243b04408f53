// Ranks over the nodes of a cluster: what teams of threads and processes are promised, over wires. Agents are processes
// of this machine.
#include "nodes/ranks_support.hpp"

namespace {

using namespace ranks;

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

}  // namespace
