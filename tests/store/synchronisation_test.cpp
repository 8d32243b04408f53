// Flags, counters, barriers and locks keep their promises between threads and between processes.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <vector>

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
using penstock::Flag;
using penstock::Mutex;
using penstock::Region;
using penstock::Remote;
using penstock::RemoteCounter;
using penstock::RemoteFlag;
using penstock::SharedMutex;

class FlagTest : public TeamTest {};
class BarrierTest : public TeamTest {};
class MutexTest : public TeamTest {};

template <class Action>
void refuses(Action&& action) {
    try {
        action();
    } catch (const penstock::UsageError&) {
        return;
    }
    require(false, "it is refused");
}

// ---- flags and counters ----

TEST_P(FlagTest, what_was_stored_before_a_flag_is_seen_after_it) {
    run(2, [](Rank me) {
        constexpr int rounds = 2'000;
        constexpr std::size_t size = 64;
        const int other = 1 - me.index();
        Region<int> inbox(me, "inbox", size);
        Flag full(me, "full");
        Counter read(me, "read");
        inbox.grant(other);
        full.grant(other);
        read.grant(other);
        auto outbox = Remote<int>::accept(me, other, "inbox");
        auto others_full = RemoteFlag::accept(me, other, "full");
        auto others_read = RemoteCounter::accept(me, other, "read");
        for (int round = 1; round <= rounds; ++round) {
            outbox.fill(0, size, round);
            outbox.publish(others_full);
            full.wait(Awaited::rank(other));
            for (const int value : inbox) require(value == round, "all of it has arrived");
            full.clear();
            others_read.store(static_cast<std::uint64_t>(round));
            read.wait_until(static_cast<std::uint64_t>(round), Awaited::rank(other));
        }
    });
}

TEST_P(FlagTest, only_one_rank_finds_a_flag_clear_when_all_test_and_set_it) {
    Blackboard<std::atomic<int>> winners;
    run(4, [&](Rank me) {
        Barrier barrier(me, "steps");
        std::optional<Flag> home;
        std::optional<RemoteFlag> remote;
        if (me.index() == 0) {
            home.emplace(me, "taken");
            for (int rank = 1; rank < me.size(); ++rank) home->grant(rank);
        } else {
            remote.emplace(RemoteFlag::accept(me, 0, "taken"));
        }
        for (int round = 0; round < 200; ++round) {
            barrier.arrive_and_wait();
            const bool before = home ? home->test_and_set() : remote->test_and_set();
            if (!before) ++*winners;
            barrier.arrive_and_wait();
            if (home) {
                require(home->is_set(), "it is set afterwards");
                home->clear();
            }
        }
    });
    EXPECT_EQ(*winners, 200);
}

TEST_P(FlagTest, no_addition_to_a_counter_is_lost) {
    run(4, [](Rank me) {
        constexpr std::uint64_t each = 5'000;
        if (me.index() == 0) {
            Counter sum(me, "sum");
            for (int rank = 1; rank < me.size(); ++rank) sum.grant(rank);
            sum.wait_until(3 * each, Awaited::everybody());
            require(sum.load() == 3 * each, "each addition counts once");
            sum.store(0);
            Barrier(me, "end").arrive_and_wait();
        } else {
            auto sum = RemoteCounter::accept(me, 0, "sum");
            std::uint64_t last = 0;
            for (std::uint64_t i = 0; i < each; ++i) {
                if (me.index() == 1) {
                    auto expected = sum.load();
                    while (!sum.compare_exchange(expected, expected + 1)) {
                    }
                } else {
                    const auto before = sum.fetch_add(1);
                    require(before >= last, "it only grows");
                    last = before;
                }
            }
            Barrier(me, "end").arrive_and_wait();
            auto expected = std::uint64_t{7};
            require(!sum.compare_exchange(expected, 9) && expected == 0, "another value is told and left alone");
        }
    });
}

TEST_P(FlagTest, a_flag_is_waited_for_no_longer_than_the_limit) {
    run(1, [](Rank me) {
        Flag flag(me, "never");
        Counter counter(me, "never either");
        require(!flag.wait_for(20ms, Awaited::rank(0)), "it is not set");
        require(!counter.wait_until_for(1, 20ms, Awaited::rank(0)), "it is 0");
        flag.set();
        counter.store(5);
        require(flag.wait_for(20ms, Awaited::rank(0)) && counter.wait_until_for(5, 20ms, Awaited::rank(0)),
                "now they are");
    });
}

TEST_P(FlagTest, a_flag_is_no_counter_and_no_region) {
    run(2, [](Rank me) {
        Flag flag(me, "word");
        flag.grant(1 - me.index());
        try {
            RemoteCounter::accept(me, 1 - me.index(), "word");
            require(false, "it is refused");
        } catch (const penstock::InvalidGrant&) {
        }
        Barrier(me, "end").arrive_and_wait();
    });
}

// ---- the barrier ----

TEST_P(BarrierTest, nobody_leaves_before_the_last_has_come) {
    for (int size : {1, 2, 3, 4, 5, 8, 13}) {
        Blackboard<std::array<std::atomic<int>, 16>> arrived;
        run(size, [&](Rank me) {
            Barrier barrier(me, "all");
            for (int round = 1; round <= 300; ++round) {
                (*arrived)[static_cast<std::size_t>(me.index())].store(round, std::memory_order_relaxed);
                barrier.arrive_and_wait();
                for (int rank = 0; rank < me.size(); ++rank) {
                    const int seen = (*arrived)[static_cast<std::size_t>(rank)].load(std::memory_order_relaxed);
                    require(seen == round || seen == round + 1, "all have come, and none is a round ahead");
                }
            }
        });
    }
}

TEST_P(BarrierTest, what_was_stored_before_it_is_seen_after_it) {
    run(3, [](Rank me) {
        std::vector<Remote<int>> remotes;
        Region<int> mine(me, "cells", 3);
        for (int rank = 0; rank < 3; ++rank) mine.grant(rank);
        for (int rank = 0; rank < 3; ++rank) remotes.push_back(Remote<int>::accept(me, rank, "cells"));
        Barrier barrier(me, "steps");
        for (int round = 1; round <= 500; ++round) {
            for (auto& remote : remotes) remote[static_cast<std::size_t>(me.index())] = round;
            barrier.arrive_and_wait();
            for (const int value : mine) require(value == round, "plain stores are ordered by the barrier");
            barrier.arrive_and_wait();
        }
    });
}

TEST_P(BarrierTest, a_rank_that_leaves_ends_the_wait_of_all) {
    Blackboard<std::atomic<int>> told;
    run(4, [&](Rank me) {
        Barrier barrier(me, "all");
        barrier.arrive_and_wait();
        if (me.index() == 2) return;
        try {
            barrier.arrive_and_wait();
        } catch (const penstock::RankLeft& left) {
            require(left.rank() == 2 && !left.failed(), "who is missed is named");
            ++*told;
        }
        // Nobody leaves before all were told: the word must not spread by their leaving.
        while (*told != 3) std::this_thread::yield();
    });
    EXPECT_EQ(*told, 3);
}

// ---- the mutex ----

TEST_P(MutexTest, only_one_rank_is_inside) {
    struct Account {
        int first = 0, second = 0;
    };
    Blackboard<Account> account;
    constexpr int each = 3'000;
    run(4, [&](Rank me) {
        Mutex mutex(me, "account");
        for (int i = 0; i < each; ++i) {
            if (i % 5 != 0 || !mutex.try_lock()) mutex.lock();
            const std::lock_guard lock(mutex, std::adopt_lock);
            require(account->first == account->second, "nobody is half done");
            ++account->first;
            ++account->second;
        }
    });
    EXPECT_EQ(account->first, 4 * each);
}

TEST_P(MutexTest, trying_does_not_wait) {
    run(2, [](Rank me) {
        Mutex mutex(me, "m");
        Barrier barrier(me, "steps");
        if (me.index() == 0) mutex.lock();
        barrier.arrive_and_wait();
        if (me.index() == 1) require(!mutex.try_lock(), "it is held");
        barrier.arrive_and_wait();
        if (me.index() == 0) mutex.unlock();
        barrier.arrive_and_wait();
        if (me.index() == 1) {
            require(mutex.try_lock(), "it is free");
            mutex.unlock();
        }
    });
}

TEST_P(MutexTest, locking_twice_and_unlocking_what_is_free_are_refused) {
    run(1, [](Rank me) {
        Mutex mutex(me, "m");
        refuses([&] { mutex.unlock(); });
        mutex.lock();
        refuses([&] { mutex.lock(); });
        refuses([&] { mutex.try_lock(); });
        mutex.unlock();
        refuses([&] { mutex.unlock(); });
        SharedMutex shared(me, "s");
        refuses([&] { shared.unlock(); });
        refuses([&] { shared.unlock_shared(); });
        shared.lock_shared();
        refuses([&] { shared.lock(); });
        refuses([&] { shared.lock_shared(); });
        refuses([&] { shared.unlock(); });
        shared.unlock_shared();
    });
}

TEST_P(MutexTest, a_rank_that_leaves_with_the_mutex_breaks_it) {
    Blackboard<std::atomic<int>> told;
    run(3, [&](Rank me) {
        Mutex mutex(me, "m");
        Barrier barrier(me, "steps");
        if (me.index() == 0) mutex.lock();
        barrier.arrive_and_wait();
        if (me.index() == 0) return;
        for (int i = 0; i < 2; ++i) {
            try {
                mutex.lock();
            } catch (const penstock::RankLeft& left) {
                require(left.rank() == 0, "it is named");
                ++*told;
            }
        }
        require(!mutex.try_lock(), "nobody gets in");
        told.operator->()->fetch_add(10);
        require(me.wait_for([&] { return *told == 24; }, Awaited::rank(me.index()), 10s), "both are told");
    });
    EXPECT_EQ(*told, 24);
}

// ---- readers and writers ----

TEST_P(MutexTest, a_writer_is_alone_and_readers_are_together) {
    struct Shared {
        std::atomic<int> readers{0}, most{0};
        int first = 0, second = 0;
    };
    Blackboard<Shared> state;
    constexpr int each = 1'000;
    run(4, [&](Rank me) {
        SharedMutex mutex(me, "table");
        Barrier barrier(me, "steps");
        {
            const std::shared_lock lock(mutex);  // all at once: nobody goes on before all are in
            ++state->readers;
            barrier.arrive_and_wait();
            require(state->readers == 4, "readers do not exclude one another");
            barrier.arrive_and_wait();
            --state->readers;
        }
        for (int i = 0; i < each; ++i) {
            if ((i + me.index()) % 4 == 0) {
                const std::unique_lock lock(mutex);
                require(state->readers == 0, "nobody reads while one writes");
                require(state->first == state->second, "no other writer is half done");
                ++state->first;
                ++state->second;
            } else {
                const std::shared_lock lock(mutex);
                ++state->readers;
                require(state->first == state->second, "no writer is half done");
                --state->readers;
            }
        }
    });
    EXPECT_EQ(state->first, each);
}

// ---- the condition ----

TEST_P(MutexTest, what_one_rank_puts_into_a_queue_others_take_out_each_once) {
    struct Queue {
        std::array<int, 4> places{};
        int size = 0, put = 0, taken = 0, sum = 0;
    };
    Blackboard<Queue> queue;
    constexpr int items = 2'000;
    run(4, [&](Rank me) {
        Mutex mutex(me, "queue");
        Condition changed(me, "changed");
        for (;;) {
            std::unique_lock lock(mutex);
            const bool produces = me.index() < 2;
            changed.wait(lock, [&] {
                return produces ? queue->size < 4 || queue->put == items : queue->size > 0 || queue->taken == items;
            });
            if (produces) {
                if (queue->put == items) break;
                queue->places[static_cast<std::size_t>(queue->size++)] = ++queue->put;
            } else {
                if (queue->taken == items) break;
                queue->sum += queue->places[static_cast<std::size_t>(--queue->size)];
                ++queue->taken;
            }
            lock.unlock();
            changed.notify_all();
        }
    });
    EXPECT_EQ(queue->sum, items * (items + 1) / 2);
}

TEST_P(MutexTest, one_notification_wakes_one_waiter) {
    struct Count {
        int waiting = 0;  ///< under the mutex
        std::atomic<int> awake{0};
    };
    Blackboard<Count> count;
    run(4, [&](Rank me) {
        Mutex mutex(me, "m");
        Condition go(me, "go");
        if (me.index() != 0) {
            std::unique_lock lock(mutex);
            ++count->waiting;
            go.wait(lock);
            ++count->awake;
            return;
        }
        for (bool all = false; !all;) {
            const std::lock_guard lock(mutex);
            all = count->waiting == 3;  // each has announced itself before it let the mutex go
        }
        for (int i = 1; i <= 3; ++i) {
            go.notify_one();
            while (count->awake < i) std::this_thread::yield();
            std::this_thread::sleep_for(5ms);
            require(count->awake == i, "no other wakes");
        }
    });
    EXPECT_EQ(count->awake, 3);
}

INSTANTIATE_FOR_BOTH_SUBSTRATES(FlagTest);
INSTANTIATE_FOR_BOTH_SUBSTRATES(BarrierTest);
INSTANTIATE_FOR_BOTH_SUBSTRATES(MutexTest);

}  // namespace
