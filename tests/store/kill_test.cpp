// Ranks that are killed at any moment: nobody hangs, nobody reads a torn record, nothing is left behind.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <thread>

#include "penstock/barrier.hpp"
#include "penstock/condition.hpp"
#include "penstock/flag.hpp"
#include "penstock/mutex.hpp"
#include "penstock/remote.hpp"
#include "penstock/shared_mutex.hpp"
#include "tests/store/support.hpp"

namespace {

using namespace store_tests;
using penstock::Awaited;
using penstock::Barrier;
using penstock::Condition;
using penstock::Counter;
using penstock::Mutex;
using penstock::Region;
using penstock::Remote;
using penstock::RemoteCounter;
using penstock::SharedMutex;
using std::chrono::steady_clock;

/// The bound that users are told of.
constexpr auto bound = 1s;

struct Scene {
    std::atomic<int> ready{0};
    std::atomic<std::int64_t> killed{0};   ///< when, in ticks of the steady clock
    std::atomic<int> survivors{0};         ///< that were told of the death
    std::atomic<std::int64_t> longest{0};  ///< from the death until a survivor was told
    std::atomic<int> wrong{0};
};

std::int64_t now() { return steady_clock::now().time_since_epoch().count(); }

/// Runs `work(me, scene)` for ever in `size` ranks; one of them is killed after a while; the others must be told. The
/// victim counts itself ready when it is in the middle of its work.
void kill_one(std::mt19937_64& random, int size, int victim, const std::function<void(Rank, Scene&)>& work) {
    Blackboard<Scene> scene;
    const auto after = std::chrono::microseconds{random() % 1'500};
    const auto program = [&](Rank me) {
        std::thread killer;
        if (me.index() == victim)
            killer = std::thread([&] {
                while (scene->ready == 0) std::this_thread::yield();
                std::this_thread::sleep_for(after);
                scene->killed = now();
                kill(getpid(), SIGKILL);
            });
        try {
            work(me, *scene);
            ++scene->wrong;
        } catch (const penstock::RankDied& died) {
            const auto late = now() - scene->killed;
            if (died.rank() != victim || died.signal() != SIGKILL || late < 0) ++scene->wrong;
            auto longest = scene->longest.load();
            while (late > longest && !scene->longest.compare_exchange_weak(longest, late)) {
            }
            ++scene->survivors;
        }
        // Whoever leaves first would be missed in the place of the dead.
        const auto deadline = steady_clock::now() + 10s;
        while (scene->survivors < me.size() - 1 && steady_clock::now() < deadline) std::this_thread::sleep_for(100us);
        if (killer.joinable()) killer.join();
    };
    EXPECT_THROW(penstock::spmd(size, program, {.substrate = Substrate::processes, .pin = false}), penstock::RankDied);
    EXPECT_EQ(scene->survivors, size - 1);
    EXPECT_EQ(scene->wrong, 0);
    EXPECT_LT(std::chrono::nanoseconds(scene->longest), bound);
}

void kill_many(int size, int victim, const std::function<void(Rank, Scene&)>& work) {
    penstock::spmd(1, [](Rank) {}, {.substrate = Substrate::processes});  // what is opened once is open now
    penstock_tests::kill_many([&](std::mt19937_64& random) { kill_one(random, size, victim, work); });
}

// ---- producer and consumer ----

constexpr std::size_t record = 48;  // words, more than a line
constexpr std::size_t slots = 4;

/// Rank 0 produces records of equal words, rank 1 compares them.
void stream(Rank me, Scene& scene) {
    if (me.index() == 0) {
        Counter taken(me, "taken");
        taken.grant(1);
        auto outbox = Remote<std::uint64_t>::accept(me, 1, "inbox");
        auto sent = RemoteCounter::accept(me, 1, "sent");
        scene.ready = 1;
        for (std::uint64_t number = 1;; ++number) {
            if (number > slots) taken.wait_until(number - slots, Awaited::rank(1));
            outbox.fill(number % slots * record, record, number);
            outbox.publish(sent, number);
        }
    }
    Region<std::uint64_t> inbox(me, "inbox", slots * record);
    Counter sent(me, "sent");
    inbox.grant(0);
    sent.grant(0);
    auto taken = RemoteCounter::accept(me, 0, "taken");
    for (std::uint64_t number = 1;; ++number) {
        sent.wait_until(number, Awaited::rank(0));
        for (const auto word : inbox.elements().subspan(number % slots * record, record))
            if (word != number) ++scene.wrong;
        taken.store(number);
    }
}

TEST(Kill, a_producer_killed_at_any_moment_leaves_whole_records_and_is_reported) {
    SKIP_UNDER_THREAD_SANITIZER();
    kill_many(2, 0, stream);
}
TEST(Kill, a_consumer_killed_at_any_moment_is_reported) {
    SKIP_UNDER_THREAD_SANITIZER();
    kill_many(2, 1, stream);
}

// ---- the barrier ----

TEST(Kill, a_member_of_a_barrier_killed_at_any_moment_is_reported_to_all) {
    SKIP_UNDER_THREAD_SANITIZER();
    kill_many(3, 2, [](Rank me, Scene& scene) {
        Barrier barrier(me, "all");
        for (;;) {
            barrier.arrive_and_wait();
            scene.ready = 1;
        }
    });
}

// ---- locks ----

TEST(Kill, a_rank_killed_while_it_holds_or_waits_for_a_mutex_is_reported_to_all) {
    SKIP_UNDER_THREAD_SANITIZER();
    kill_many(3, 1, [](Rank me, Scene& scene) {
        Mutex mutex(me, "m");
        Barrier barrier(me, "all");
        barrier.arrive_and_wait();
        for (;;) {
            mutex.lock();
            scene.ready = 1;
            mutex.unlock();
            // One that was killed outside harms nobody, so this is asked apart.
            if (me.dead(1)) me.throw_lost(1);
        }
    });
}

TEST(Kill, a_rank_killed_outside_its_mutex_harms_nobody) {
    SKIP_UNDER_THREAD_SANITIZER();
    Blackboard<std::atomic<int>> sections;
    EXPECT_THROW(penstock::spmd(3,
                                [&](Rank me) {
                                    Mutex mutex(me, "m");
                                    Barrier(me, "all").arrive_and_wait();
                                    if (me.index() == 1) raise(SIGKILL);
                                    while (!me.dead(1)) std::this_thread::yield();
                                    for (int i = 0; i < 1'000; ++i) {
                                        const std::lock_guard lock(mutex);
                                        ++*sections;
                                    }
                                },
                                {.substrate = Substrate::processes}),
                 penstock::RankDied);
    EXPECT_EQ(*sections, 2'000);
}

TEST(Kill, a_holder_killed_in_its_section_lets_nobody_else_in) {
    SKIP_UNDER_THREAD_SANITIZER();
    kill_many(3, 0, [](Rank me, Scene& scene) {
        Mutex mutex(me, "m");
        Barrier barrier(me, "all");
        if (me.index() == 0) mutex.lock();
        barrier.arrive_and_wait();
        if (me.index() == 0) {
            scene.ready = 1;
            for (;;) pause();
        }
        mutex.lock();
    });
}

TEST(Kill, a_writer_killed_at_any_moment_is_reported_to_readers_and_writers) {
    SKIP_UNDER_THREAD_SANITIZER();
    kill_many(3, 0, [](Rank me, Scene& scene) {
        SharedMutex mutex(me, "m");
        Barrier barrier(me, "all");
        barrier.arrive_and_wait();
        for (;;) {
            if (me.index() == 2) {
                const std::shared_lock lock(mutex);
            } else {
                const std::unique_lock lock(mutex);
                scene.ready = 1;
            }
            if (me.dead(0)) me.throw_lost(0);  // it may have been killed outside
        }
    });
}

TEST(Kill, a_reader_killed_at_any_moment_harms_nobody) {
    SKIP_UNDER_THREAD_SANITIZER();
    kill_many(3, 2, [](Rank me, Scene& scene) {
        SharedMutex mutex(me, "m");
        Barrier barrier(me, "all");
        barrier.arrive_and_wait();
        for (int after = 0; after < 20; after += me.dead(2)) {
            if (me.index() == 1) {
                const std::unique_lock lock(mutex);
            } else {
                const std::shared_lock lock(mutex);
                if (me.index() == 2) scene.ready = 1;
            }
        }
        me.throw_lost(2);
    });
}

TEST(Kill, whoever_waits_for_a_condition_is_told_of_a_death) {
    SKIP_UNDER_THREAD_SANITIZER();
    kill_many(3, 1, [](Rank me, Scene& scene) {
        Mutex mutex(me, "m");
        Condition never(me, "never");
        std::unique_lock lock(mutex);
        scene.ready += me.index() == 1;
        for (;;) never.wait(lock);
    });
}

// ---- whoever started the team ----

TEST(Kill, ranks_do_not_outlive_whoever_started_them) {
    SKIP_UNDER_THREAD_SANITIZER();
    Blackboard<std::array<std::atomic<int>, 3>> numbers;
    const pid_t starter = fork();
    if (starter == 0) {
        penstock::spmd(3,
                       [&](Rank me) {
                           (*numbers)[static_cast<std::size_t>(me.index())] = getpid();
                           for (;;) pause();
                       },
                       {.substrate = Substrate::processes});
        _exit(0);
    }
    for (const auto& number : *numbers)
        while (number == 0) std::this_thread::sleep_for(1ms);
    kill(starter, SIGKILL);
    EXPECT_EQ(waitpid(starter, nullptr, 0), starter);
    const auto deadline = steady_clock::now() + 10s;
    for (const auto& number : *numbers) {
        while (!has_ended(number) && steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
        EXPECT_TRUE(has_ended(number)) << number;
    }
}

}  // namespace
