// Ranks on several nodes when nodes die, stand still or are cut off, and when they store faster than a wire takes it.
#include "nodes/ranks_support.hpp"

namespace {

using namespace ranks;

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
    if (me.index() != 2) post.send(2, value);
    if (me.index() == 2) {
        for (const int other : {0, 1}) post.recv(other, value);  // both are out of the barrier
        std::this_thread::sleep_for(50ms);                       // so that they wait
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
    } catch (const std::exception& other) {  // as a rank that another had told of the death before this node was told
        say(std::string("something else: ") + other.what());
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
        EXPECT_TRUE(log.has(node + "told of 2 on workers.2")) << log.text();
        EXPECT_TRUE(log.has(node + "on")) << log.text();
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

}  // namespace
