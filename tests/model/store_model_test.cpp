// The shipped FlagWord, QueueLock and DisseminationBarrier under every schedule and every read that the memory model
// allows.
#include <array>

#include "model.hpp"
#include "penstock/barrier.hpp"
#include "penstock/detail/store/queue_lock.hpp"
#include "penstock/flag.hpp"

namespace {

using model::Search;

// ---- a flag publishes what was stored before it ----

template <class Weakening = model::AsShipped>
struct FlagModel : rl::test_suite<FlagModel<Weakening>, 2> {
    penstock::FlagWord<model::Atomics<Weakening>> full, read;
    model::Plain<int> region;
    static constexpr std::uint64_t rounds = 2;

    void thread(unsigned index) {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            if (index == 0) {
                region.write(static_cast<int>(round));
                full.publish(round);
                while (read.seen() != round) model::idle();
            } else {
                while (full.seen() != round) model::idle();
                model::require(region.read() == static_cast<int>(round), "the flag publishes the store");
                read.publish(round);
            }
        }
    }
};

TEST(StoreModel, a_flag_publishes_what_was_stored_before_it) {
    model::expect_holds<FlagModel<>>(Search::every_schedule);
}
TEST(StoreModel, a_flag_without_release_is_found) {
    model::expect_finds<FlagModel<model::Relaxing<"::publish(">>>(rl::test_result_data_race);
}
TEST(StoreModel, a_flag_without_acquire_is_found) {
    model::expect_finds<FlagModel<model::Relaxing<"::seen(">>>(rl::test_result_data_race);
}

/// Who finds the flag clear owns the region until it clears it.
template <class Weakening = model::AsShipped>
struct TestAndSetModel : rl::test_suite<TestAndSetModel<Weakening>, 2> {
    penstock::FlagWord<model::Atomics<Weakening>> taken;
    model::Plain<int> region;

    void before() { region.write(0); }
    void thread(unsigned) {
        while (taken.test_and_set()) model::idle();
        region.write(region.read() + 1);
        taken.publish(0);
    }
    void after() { model::require(region.read() == 2, "each has added one"); }
};

TEST(StoreModel, who_finds_a_flag_clear_is_alone) { model::expect_holds<TestAndSetModel<>>(Search::few_switches, 4); }
TEST(StoreModel, a_test_and_set_without_acquire_is_found) {
    model::expect_finds<TestAndSetModel<model::Relaxing<"::test_and_set(">>>(rl::test_result_data_race);
}

// ---- the queue lock ----

template <int threads, int rounds, bool tries, class Weakening = model::AsShipped>
struct LockModel : rl::test_suite<LockModel<threads, rounds, tries, Weakening>, threads> {
    using Lock = penstock::QueueLock<model::Atomics<Weakening>>;
    std::array<typename Lock::Node, threads> nodes;
    std::array<typename Lock::Node*, threads> table{};
    typename Lock::Head head;
    std::array<Lock, threads> locks;
    model::Plain<int> guarded;

    void before() {
        for (std::size_t index = 0; index < threads; ++index) table[index] = &nodes[index];
        for (int index = 0; index < threads; ++index)
            locks[static_cast<std::size_t>(index)] = Lock(&head, table.data(), index, threads);
        guarded.write(0);
    }
    void thread(unsigned index) {
        auto& lock = locks[index];
        const auto wait = [](auto&& poll) {
            while (!poll()) model::idle();
            return true;
        };
        for (int round = 0; round < rounds; ++round) {
            if (tries && index == 0) {
                while (!lock.try_lock()) model::idle();
            } else {
                // One look more, then patience is at an end: the lock is found free, and inherited.
                lock.lock([](int looks) { return looks < 2; }, wait, [](int) {});
            }
            guarded.write(guarded.read() + 1);
            lock.unlock([](int) {});
        }
    }
    void after() { model::require(guarded.read() == threads * rounds, "each section has counted"); }
};

TEST(StoreModel, only_one_holds_the_queue_lock) {
    model::expect_holds<LockModel<2, 2, false>>(Search::few_switches, 3);
    model::expect_holds<LockModel<3, 2, false>>(Search::random_schedules, 100'000);
}
TEST(StoreModel, only_one_holds_the_queue_lock_when_some_only_try) {
    model::expect_holds<LockModel<3, 2, true>>(Search::random_schedules, 100'000);
}
TEST(StoreModel, a_queue_lock_whose_taking_orders_nothing_is_found) {
    model::expect_finds<LockModel<2, 2, false, model::Relaxing<"::take(">>>(rl::test_result_data_race);
}
TEST(StoreModel, a_queue_lock_whose_inheriting_orders_nothing_is_found) {
    model::expect_finds<LockModel<2, 2, false, model::Relaxing<"::inherited(">>>(rl::test_result_data_race);
}
TEST(StoreModel, a_queue_lock_whose_unlocking_orders_nothing_is_found) {
    model::expect_finds<LockModel<2, 2, false, model::Relaxing<"::unlock(">>>(rl::test_result_data_race);
}

// ---- the barrier ----

template <int threads, int rounds, class Weakening = model::AsShipped>
struct BarrierModel : rl::test_suite<BarrierModel<threads, rounds, Weakening>, threads> {
    using Barrier = penstock::DisseminationBarrier<model::Atomics<Weakening>>;
    static constexpr int steps = Barrier::rounds_of(threads);
    std::array<std::array<typename Barrier::Cell, steps>, threads> cells;
    std::array<model::Plain<int>, threads> stored;

    void thread(unsigned index) {
        const int me = static_cast<int>(index);
        std::array<typename Barrier::Cell*, Barrier::most_rounds> told{};
        for (int step = 0; step < steps; ++step)
            told[static_cast<std::size_t>(step)] =
                &cells[static_cast<std::size_t>(Barrier::behind(me, step, threads))][static_cast<std::size_t>(step)];
        Barrier barrier(cells[index].data(), told, steps);
        const auto pass = [&] {
            barrier.pass([](int) {},
                         [](int, auto&& poll) {
                             while (!poll()) model::idle();
                         });
        };
        for (int round = 1; round <= rounds; ++round) {
            stored[index].write(round);
            pass();
            for (auto& other : stored) model::require(other.read() == round, "all have come, and nobody is ahead");
            pass();
        }
    }
};

TEST(StoreModel, nobody_passes_a_barrier_before_all_have_come) {
    model::expect_holds<BarrierModel<2, 2>>(Search::few_switches, 3);
    model::expect_holds<BarrierModel<3, 2>>(Search::random_schedules, 100'000);
    model::expect_holds<BarrierModel<4, 1>>(Search::random_schedules, 50'000);
}
TEST(StoreModel, a_barrier_that_orders_nothing_is_found) {
    model::expect_finds<BarrierModel<2, 1, model::Relaxing<"::pass(">>>(rl::test_result_data_race);
    model::expect_finds<BarrierModel<3, 1, model::Relaxing<"::pass(">>>(rl::test_result_data_race);
}

/// Without its last round a barrier of three lets a rank through that one of the others has not heard of.
struct ShortBarrierModel : rl::test_suite<ShortBarrierModel, 3> {
    using Barrier = penstock::DisseminationBarrier<model::Atomics<>>;
    std::array<Barrier::Cell, 3> cells;
    std::array<model::Plain<int>, 3> stored;

    void thread(unsigned index) {
        std::array<Barrier::Cell*, Barrier::most_rounds> told{&cells[(index + 1) % 3]};
        Barrier barrier(&cells[index], told, 1);
        stored[index].write(1);
        barrier.pass([](int) {},
                     [](int, auto&& poll) {
                         while (!poll()) model::idle();
                     });
        for (auto& other : stored) other.read();
    }
};

TEST(StoreModel, a_barrier_with_a_round_too_few_is_found) {
    model::expect_finds<ShortBarrierModel>(rl::test_result_data_race);
}

}  // namespace
