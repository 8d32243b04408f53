// Tasks that issue tasks: contract 3, 11 and 12.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

void fib(Machine& machine, int n, long& result) {
    if (n < 2) {
        result = n;
        return;
    }
    long left = 0, right = 0;
    Machine* const m = &machine;
    machine.call([m](int k, long& r) { fib(*m, k, r); }, n - 1, out(left));
    machine.call([m](int k, long& r) { fib(*m, k, r); }, n - 2, out(right));
    machine.barrier();
    result = left + right;
}

void sort(Machine& machine, std::span<int> data) {
    if (data.size() < 64) {
        std::sort(data.begin(), data.end());
        return;
    }
    const int pivot = data[data.size() / 2];
    const auto middle = std::partition(data.begin(), data.end(), [&](int v) { return v < pivot; });
    const auto above = std::partition(middle, data.end(), [&](int v) { return v == pivot; });
    Machine* const m = &machine;
    const auto recurse = [m](std::span<int> part) { sort(*m, part); };
    const auto first = static_cast<std::size_t>(middle - data.begin());
    const auto handle = machine.call(recurse, inout(data.first(first)));
    machine.call(recurse, inout(data.subspan(static_cast<std::size_t>(above - data.begin())))).wait(help);
    handle.wait();
}

MachineOptions distributed(int targets, Distribution distribution, std::uint32_t depth = 64) {
    auto options = with_targets(targets);
    options.distribution = distribution;
    options.depth = depth;
    return options;
}

class Nested : public testing::TestWithParam<std::tuple<int, Distribution>> {
  protected:
    Machine machine{distributed(std::get<0>(GetParam()), std::get<1>(GetParam()))};
};
INSTANTIATE_TEST_SUITE_P(Ways, Nested,
                         testing::Combine(testing::Values(0, 1, 2, 3),
                                          testing::Values(Distribution::balanced, Distribution::round_robin,
                                                          Distribution::least_loaded)));

TEST_P(Nested, recursion_with_barriers_in_tasks_ends_with_the_right_sum) {
    long result = 0;
    machine.call([this](int n, long& r) { fib(machine, n, r); }, scaled(20, 14), out(result)).wait();
    EXPECT_EQ(result, scaled(6765, 377));
    machine.finish();
}

TEST_P(Nested, recursion_from_the_thread_itself) {
    long result = 0;
    fib(machine, scaled(20, 14), result);
    EXPECT_EQ(result, scaled(6765, 377));
}

TEST_P(Nested, quicksort_sorts) {
    std::mt19937 random(5);
    std::vector<int> data(static_cast<std::size_t>(scaled(100'000, 10'000)));
    for (int& v : data) v = static_cast<int>(random() % 50'000);
    auto expected = data;
    std::sort(expected.begin(), expected.end());
    machine.call([this](std::span<int> d) { sort(machine, d); }, inout(data)).wait();
    EXPECT_EQ(data, expected);
}

TEST_P(Nested, finish_covers_children_that_nobody_waited_for) {  // contract 12
    std::atomic<int> ran{0};
    auto* const count = &ran;
    auto* const m = &machine;
    for (int i = 0; i < 50; ++i) {
        machine.call([m, count] {
            for (int k = 0; k < 4; ++k)
                m->call([m, count] {
                    for (int j = 0; j < 4; ++j) m->call([count] { count->fetch_add(1); });
                });
        });
    }
    machine.finish();
    EXPECT_EQ(ran.load(), 800);
}

TEST_P(Nested, failures_of_children_that_nobody_waited_for_surface_at_finish) {  // contract 15: none is lost
    auto* const m = &machine;
    for (int i = 0; i < 3; ++i)
        machine.call([m] { m->call([m] { m->call([] { throw std::runtime_error("an orphan"); }); }); });
    try {
        machine.finish();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const TaskFailed& failed) {
        EXPECT_EQ(failed.others(), 2u);
        EXPECT_THROW(std::rethrow_exception(failed.cause()), std::runtime_error);
    }
    machine.finish();
}

TEST_P(Nested, a_barrier_inside_a_task_covers_its_children_only) {
    std::atomic<int> children{0};
    auto* const count = &children;
    int seen = -1;
    machine
        .call(
            [this, count](int& to) {
                for (int i = 0; i < 100; ++i) machine.call([count] { count->fetch_add(1); });
                machine.barrier();
                to = count->load();
            },
            out(seen))
        .wait();
    EXPECT_EQ(seen, 100);
}

TEST_P(Nested, a_task_sees_the_failures_of_its_own_children_and_no_others) {
    std::atomic<int> wrong{0}, right{0};
    auto* const good = &right;
    auto* const bad = &wrong;
    auto* const m = &machine;
    for (int i = 0; i < 40; ++i) {
        machine.call([m, good, bad, i] {
            const auto name = std::to_string(i);
            for (int k = 0; k < 3; ++k)
                m->call(boxed([name, k] {
                    if (k == 1) throw std::runtime_error(name);
                }));
            try {
                m->barrier();
                bad->fetch_add(1);
            } catch (const TaskFailed& failed) {
                try {
                    std::rethrow_exception(failed.cause());
                } catch (const std::runtime_error& cause) {
                    (cause.what() == name && failed.others() == 0 ? good : bad)->fetch_add(1);
                }
            }
        });
    }
    machine.finish();
    EXPECT_EQ(right.load(), 40);
    EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Nested, deeper_than_the_limit_is_a_typed_error) {  // contract 11
    struct Step {
        static void down(Machine& m, int depth, int& deepest) {
            deepest = depth;
            if (depth == 1'000'000) return;
            Machine* const machine = &m;
            m.call([machine](int d, int& deep) { down(*machine, d, deep); }, depth + 1, inout(deepest)).wait(help);
        }
    };
    int deepest = 0;
    bool typed = false;
    try {
        machine.call([this](int& deep) { Step::down(machine, 1, deep); }, inout(deepest)).wait();
    } catch (const TaskFailed& failed) {
        std::exception_ptr cause = failed.cause();
        for (;;) {
            try {
                std::rethrow_exception(cause);
            } catch (const TaskFailed& inner) {
                cause = inner.cause();
                continue;
            } catch (const NestingTooDeep&) {
                typed = true;
            } catch (...) {
            }
            break;
        }
    }
    EXPECT_TRUE(typed);
    EXPECT_GE(deepest, 100);
    EXPECT_LE(deepest, 10'000);
    int x = 0;
    machine.call([](int& v) { v = 3; }, out(x)).wait();
    EXPECT_EQ(x, 3);
}

TEST_P(Nested, a_chain_of_a_million_tasks_that_do_not_wait_is_no_depth) {
    if (machine.targets() == 0) GTEST_SKIP() << "without targets each call runs inside the one before";
    struct Chain {
        static void link(Machine* m, int left, std::atomic<int>* done) {
            if (left == 0) done->store(1);
            else m->call([](Machine* machine, int n, std::atomic<int>* d) { link(machine, n, d); }, m, left - 1, done);
        }
    };
    std::atomic<int> done{0};
    machine.call([](Machine* m, int n, std::atomic<int>* d) { Chain::link(m, n, d); }, &machine,
                 scaled(1'000'000, 20'000), &done);
    machine.finish();
    EXPECT_EQ(done.load(), 1);
}

TEST(NestedNames, a_task_may_send_to_its_own_target_and_wait) {
    Machine machine(with_targets(2));
    for (int target = 0; target < 2; ++target) {
        int x = 0;
        machine.on(target)
            .call(
                [&machine, target](int& v) {
                    machine.on(target).call([](int& w) { w = 5; }, out(v)).wait();
                    machine.on(target).call([](int& w) { w += 1; }, inout(v));
                    machine.barrier();
                },
                out(x))
            .wait();
        EXPECT_EQ(x, 6);
    }
}

TEST(NestedNames, two_tasks_that_fill_each_others_lanes_both_end) {  // contract 3: a call inside a task never blocks
    for (const auto distribution : {Distribution::balanced, Distribution::round_robin, Distribution::least_loaded}) {
        for (const auto when_full : {WhenFull::defer, WhenFull::wait, WhenFull::refuse}) {
            auto options = distributed(2, distribution, 2);
            options.when_full = when_full;
            options.pending_limit = 8;
            Machine machine(options);
            std::atomic<int> ran{0}, here{0};
            auto* const count = &ran;
            auto* const arrived = &here;
            auto* const m = &machine;
            for (int target = 0; target < 2; ++target)
                machine.on(target).call([m, count, arrived, target] {
                    arrived->fetch_add(1);
                    eventually([&] { return arrived->load() == 2; });
                    for (int i = 0; i < 2000; ++i) m->on(1 - target).call([count] { count->fetch_add(1); });
                });
            machine.finish();
            EXPECT_EQ(ran.load(), 4000);
        }
    }
}

TEST(NestedNames, failures_in_a_lane_reach_the_task_that_issued_them) {
    // A task issues to target 1, and while it waits for another child, that child (run by the same thread) uses the
    // same lane.
    Machine machine(with_targets(2));
    bool inner_clean = false, outer_told = false;
    machine.on(0)
        .call([&] {
            const auto failing = machine.on(1).call([] { throw std::runtime_error("the outer one"); });
            while (!failing.ready()) std::this_thread::yield();
            machine.on(0).call([&] {
                machine.on(1).call([] {});
                try {
                    machine.barrier();
                    inner_clean = true;
                } catch (const TaskFailed&) {
                }
            });
            try {
                machine.barrier();
            } catch (const TaskFailed&) {
                outer_told = true;
            }
        })
        .wait();
    EXPECT_TRUE(inner_clean);
    EXPECT_TRUE(outer_told);
}

TEST(NestedNames, failures_of_tasks_that_ran_inside_their_call_reach_the_task_that_issued_them) {
    Machine machine(with_targets(0));
    bool inner_clean = false, outer_told = false;
    machine.call([&] {
        machine.call([] { throw std::runtime_error("the outer one"); });
        machine.call([&] {
            machine.call([] {});
            try {
                machine.barrier();
                inner_clean = true;
            } catch (const TaskFailed&) {
            }
        });
        try {
            machine.barrier();
        } catch (const TaskFailed&) {
            outer_told = true;
        }
    });
    EXPECT_NO_THROW(machine.barrier());
    EXPECT_TRUE(inner_clean);
    EXPECT_TRUE(outer_told);
}

}  // namespace
