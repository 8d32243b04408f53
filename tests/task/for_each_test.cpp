// Loops over a range in pieces.
#include "penstock/for_each.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

class Loops : public testing::TestWithParam<int> {
  protected:
    Machine machine{with_targets(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(OnTargets, Loops, testing::Values(0, 1, 2, 5));

TEST_P(Loops, visit_each_index_once_whatever_the_grain) {
    for (const std::size_t n : {0, 1, 2, 7, 1000, 12345}) {
        std::vector<std::atomic<int>> visits(n);
        machine.for_each(n, [&](std::size_t i) { visits[i].fetch_add(1); });
        for (const std::size_t grain : {1, 3, 1000, 100000})
            machine.for_each(n, [&](std::size_t i) { visits[i].fetch_add(1); }, grain);
        for (const auto& v : visits) ASSERT_EQ(v.load(), 5);
    }
}

/// The second loop over a body with long items does not run its first item alone: that item waits for the other.
TEST_P(Loops, that_come_again_are_shared_from_the_first_item_on) {
    if (GetParam() == 0) GTEST_SKIP() << "there is nobody to share with";
    std::atomic<int> begun{0}, together{0};
    const auto loop = [&](std::size_t n, std::chrono::milliseconds patience) {
        machine.for_each(n, [&begun, &together, patience](std::size_t) {
            begun.fetch_add(1);
            const auto end = std::chrono::steady_clock::now() + patience;
            while (begun.load() < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
            if (begun.load() == 2) together.fetch_add(1);
        });
    };
    loop(1, std::chrono::milliseconds(20));
    begun = together = 0;
    loop(2, std::chrono::seconds(20));
    EXPECT_EQ(together.load(), 2);
}

TEST_P(Loops, cut_equal_pieces_near_the_wished_size) {
    for (const std::size_t grain : {1, 10, 33, 64, 99, 150, 1000}) {
        std::mutex mutex;
        std::vector<Piece> pieces;
        machine.for_each(
            100,
            [&](Piece piece) {
                const std::lock_guard lock(mutex);
                pieces.push_back(piece);
            },
            grain);
        std::sort(pieces.begin(), pieces.end(), [](Piece a, Piece b) { return a.begin < b.begin; });
        std::size_t next = 0, least = 100, largest = 0;
        for (const auto& piece : pieces) {
            EXPECT_EQ(piece.begin, next);
            next = piece.end;
            least = std::min(least, piece.size());
            largest = std::max(largest, piece.size());
        }
        EXPECT_EQ(next, 100u);
        EXPECT_LE(largest - least, 1u);
        EXPECT_GE(2 * largest, std::min<std::size_t>(grain, 100));
        EXPECT_LE(2 * least, 3 * grain + 2);
    }
    EXPECT_THROW(machine.for_each(10, [](std::size_t) {}, 0), UsageError);
}

TEST_P(Loops, over_ranges_give_elements_or_spans_no_larger_than_the_local_store) {
    std::vector<double> x(100000);
    machine.for_each(x, [&](double& v) { v = static_cast<double>(&v - x.data()); });
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], static_cast<double>(i));
    MachineOptions options = with_targets(GetParam());
    options.local_store = 1024;
    Machine small(options);
    std::atomic<std::size_t> largest{0}, sum{0};
    small.for_each(std::as_const(x), [&](std::span<const double> piece) {
        auto seen = largest.load();
        while (seen < piece.size() && !largest.compare_exchange_weak(seen, piece.size())) {
        }
        sum += piece.size();
    });
    EXPECT_EQ(sum.load(), x.size());
    EXPECT_LE(largest.load(), 128u);
}

TEST_P(Loops, are_shared_with_the_targets) {
    if (machine.targets() == 0) GTEST_SKIP() << "there is nobody to share with";
    std::mutex mutex;
    std::set<std::thread::id> threads;
    std::atomic<int> present{0};
    // Each piece waits until a second thread has come.
    machine.for_each(
        1000,
        [&](std::size_t) {
            {
                const std::lock_guard lock(mutex);
                threads.insert(std::this_thread::get_id());
                present.store(static_cast<int>(threads.size()));
            }
            static_cast<void>(eventually([&] { return present.load() > 1; }));
        },
        1);
    EXPECT_GT(threads.size(), 1u);
}

TEST_P(Loops, hand_the_failure_of_a_piece_to_the_caller_and_skip_what_has_not_begun) {
    std::atomic<int> ran{0};
    try {
        machine.for_each(
            100000,
            [&](std::size_t i) {
                ran.fetch_add(1);
                if (i == 10) throw std::logic_error("the tenth");
            },
            1);
        FAIL() << "nothing was thrown";
    } catch (const TaskFailed& failed) {
        EXPECT_NE(failed.task().find("items 10 to 10"), std::string::npos) << failed.task();
        EXPECT_THROW(std::rethrow_exception(failed.cause()), std::logic_error);
    }
    EXPECT_LT(ran.load(), 100000);
    EXPECT_NO_THROW(machine.barrier());  // delivered once
    machine.for_each(100, [&](std::size_t) { ran.fetch_add(1); });
}

/// Loops that come again are short ones: each thread has its part, unless a target does not come for it.
TEST_P(Loops, that_are_short_visit_each_index_once_while_others_keep_the_targets_busy) {
    std::atomic<bool> stop{false};
    std::thread other([&] {
        for (unsigned round = 0; !stop.load(); ++round) {
            machine.call(boxed([&, round] {
                const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(round % 7 * 3);
                while (std::chrono::steady_clock::now() < end) {
                }
            }));
            if (round % 5 == 0) machine.barrier();
        }
        machine.barrier();
    });
    std::vector<int> visits(8);  // not atomic: what the pieces write comes with the end of the loop
    for (int round = 0; round < scaled(20000, 1000); ++round) {
        std::ranges::fill(visits, 0);
        machine.for_each(visits.size(), [&](std::size_t i) { ++visits[i]; }, 1);
        for (std::size_t i = 0; i < visits.size(); ++i) ASSERT_EQ(visits[i], 1) << "item " << i << ", round " << round;
    }
    stop = true;
    other.join();
}

TEST_P(Loops, and_the_barrier_behind_them_do_not_wait_for_a_busy_target) {
    std::atomic<int> busy{0};
    std::atomic<bool> over{false}, issued{false};
    std::thread other([&] {
        for (int target = 0; target < machine.targets(); ++target)
            machine.on(target).call(boxed([&] {
                busy.fetch_add(1);
                while (!over.load()) std::this_thread::yield();
            }));
        issued = true;
        machine.barrier();
    });
    ASSERT_TRUE(eventually([&] { return issued.load() && busy.load() == machine.targets(); }));
    for (const std::size_t grain : {1, 3, 0}) {
        for (int round = 0; round < 100; ++round) {
            std::atomic<int> visits{0};
            machine.for_each(
                20, [&](std::size_t) { visits.fetch_add(1); }, grain == 0 ? automatic_grain : Grain(grain));
            ASSERT_EQ(visits.load(), 20);
        }
    }
    machine.barrier();
    over = true;
    other.join();
}

/// The threads that take part are held in one piece until all others have run, but for one.
TEST_P(Loops, give_what_a_thread_has_not_begun_to_the_others) {
    if (GetParam() == 0) GTEST_SKIP() << "there is nobody to share with";
    for (const bool caller_is_held : {true, false}) {
        const auto caller = std::this_thread::get_id();
        constexpr int pieces = 64;
        std::atomic<int> ran{0}, held{0};
        std::mutex mutex;
        std::set<std::thread::id> seen;
        machine.for_each(
            pieces,
            [&](std::size_t) {
                bool holds = false;
                {
                    const std::lock_guard lock(mutex);
                    holds = (std::this_thread::get_id() == caller) == caller_is_held &&
                            seen.insert(std::this_thread::get_id()).second && held.load() == 0;
                    if (holds) held.store(1);
                }
                if (holds) EXPECT_TRUE(eventually([&] { return ran.load() == pieces - 1; }));
                else if (held.load() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                ran.fetch_add(1);
            },
            1);
        EXPECT_EQ(ran.load(), pieces);
    }
}

TEST_P(Loops, that_are_short_hand_over_a_failure_too) {
    for (int round = 0; round < 100; ++round) {
        std::atomic<int> ran{0};
        const std::size_t fails = static_cast<std::size_t>(round) % 9;  // of 8: none now and then
        const auto loop = [&] {
            machine.for_each(
                8,
                [&](std::size_t i) {
                    if (i == fails) throw std::logic_error("this one");
                    ran.fetch_add(1);
                },
                1);
        };
        if (fails == 8) {
            EXPECT_NO_THROW(loop());
            EXPECT_EQ(ran.load(), 8);
            continue;
        }
        try {
            loop();
            ADD_FAILURE() << "nothing was thrown";
        } catch (const TaskFailed& failed) {
            const auto items = "items " + std::to_string(fails) + " to " + std::to_string(fails);
            EXPECT_NE(failed.task().find(items), std::string::npos) << failed.task();
        }
        EXPECT_LT(ran.load(), 8);
    }
}

/// A lone call in a piece must not come to lie behind the pieces that a target has still to run.
TEST_P(Loops, let_calls_in_their_pieces_go_to_whoever_is_free) {
    if (GetParam() < 2) GTEST_SKIP() << "two targets at least";
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> answered{false};
    std::atomic<int> held{0};
    for (int round = 0; round < 20; ++round) {
        answered = false;
        held = 0;
        machine.for_each(
            2,
            [&](std::size_t) {
                if (std::this_thread::get_id() != caller) {
                    held.store(1);
                    static_cast<void>(eventually([&] { return answered.load(); }));
                    return;
                }
                static_cast<void>(eventually([&] { return held.load() == 1; }));
                std::atomic<int> asked{0};
                machine.call([&asked] { asked.store(1); }).wait();
                EXPECT_EQ(asked.load(), 1);
                machine.barrier();
                machine.call([&answered] { answered.store(true); });
                EXPECT_TRUE(eventually([&] { return answered.load(); }));
            },
            1);
        machine.barrier();
    }
}

/// The thread cannot tell from its lanes that both targets are busy.
TEST_P(Loops, inside_a_task_leave_the_calls_of_the_thread_to_who_is_free) {
    if (GetParam() < 2) GTEST_SKIP() << "two targets at least";
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> begun{0};
        std::atomic<bool> answered{false};
        machine.call(boxed([&] {
            machine.for_each(
                2,
                [&](std::size_t) {
                    begun.fetch_add(1);
                    EXPECT_TRUE(eventually([&] { return answered.load(); }));
                },
                1);
        }));
        EXPECT_TRUE(eventually([&] { return begun.load() == 2; }));
        machine.call([&answered] { answered.store(true); });
        machine.barrier();
    }
}

void twice(double& value) { value *= 2; }

TEST_P(Loops, take_bodies_of_every_kind) {
    std::vector<double> values(100, 1);
    std::array<double, 8> table{};  // too large to be copied
    struct Counts {
        int* visits;
        void operator()(std::size_t i) { ++visits[i]; }  // only where it is
    };
    std::vector<int> visits(100);
    std::atomic<std::size_t> items{0};
    for (int round = 0; round < 8; ++round) {  // the later ones are short
        machine.for_each(values, twice, 10);
        machine.for_each(values, &twice, 10);
        machine.for_each(values.size(), [&values, table](std::size_t i) { values[i] += table[i % table.size()]; }, 10);
        machine.for_each(visits.size(), Counts{visits.data()}, 10);
        Counts counts{visits.data()};
        machine.for_each(visits.size(), counts, 10);
        machine.for_each(
            std::as_const(values), [&items](std::span<const double> piece) { items.fetch_add(piece.size()); }, 7);
    }
    EXPECT_EQ(items.load(), 8 * values.size());
    for (const double value : values) EXPECT_EQ(value, 65536);
    for (const int count : visits) EXPECT_EQ(count, 16);
}

TEST_P(Loops, work_inside_pieces_while_targets_come_and_go) {
    std::atomic<bool> stop{false};
    std::thread other([&] {
        for (unsigned round = 0; !stop.load(); ++round) {
            machine.call(boxed([round] {
                const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(round % 5 * 10);
                while (std::chrono::steady_clock::now() < end) {
                }
            }));
            if (round % 3 == 0) machine.barrier();
        }
        machine.barrier();
    });
    for (int round = 0; round < scaled(1000, 50); ++round) {
        std::atomic<int> count{0};
        machine.for_each(
            5,
            [&](std::size_t) {
                for (int inner = 0; inner < 4; ++inner)
                    machine.for_each(8, [&](std::size_t) { count.fetch_add(1); }, inner % 2 + 1);
            },
            1);
        ASSERT_EQ(count.load(), 5 * 4 * 8) << round;
    }
    stop = true;
    other.join();
}

TEST_P(Loops, work_inside_tasks_inside_loops_and_in_several_threads) {
    std::atomic<int> count{0};
    const auto work = [&] {
        for (int i = 0; i < scaled(20, 5); ++i)
            machine.call(boxed([&] {
                machine.for_each(
                    20, [&](std::size_t) { machine.for_each(10, [&](std::size_t) { count.fetch_add(1); }, 2); }, 3);
            }));
        machine.for_each(200, [&](std::size_t) { count.fetch_add(1); });
        machine.barrier();
    };
    std::thread other(work);
    work();
    other.join();
    EXPECT_EQ(count.load(), 2 * (scaled(20, 5) * 200 + 200));
}

}  // namespace
