// Any thread may issue (contract 1): many at once, one after another, and some that end before their tasks do.
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

void add(std::span<const int> x, long& sum) {
    for (int v : x) sum += v;
}

/// What each of many threads does: calls, waits both ways, a nested task and (unless it shares its initiator) a
/// failure.
void use(Machine& machine, int number, bool alone, std::atomic<int>& good) {
    const std::vector<int> x(50, number);
    long a = 0, b = 1, c = 0;
    const auto first = machine.call<add>(in(x), inout(a));
    machine.call<add>(in(x), inout(b));
    first.wait();
    machine
        .call(
            [&machine, &x](long& to) {
                machine.call<add>(in(x), inout(to));
                machine.barrier();
            },
            inout(c))
        .wait(help);
    // Threads that share an initiator share its barriers too, and what these throw.
    const auto failing = machine.call([alone] {
        if (alone) throw std::runtime_error("asked for");
    });
    bool failed = !alone;
    try {
        failing.wait();
    } catch (const TaskFailed&) {
        failed = true;
    }
    machine.barrier();
    if (failed && a == 50L * number && b == 50L * number + 1 && c == a && !machine.in_task()) good.fetch_add(1);
}

TEST(Threads, a_thousand_at_once_are_all_served) {
    Machine machine(with_targets(2));
    const int threads = scaled(1000, 200);
    std::atomic<int> good{0}, ready{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            ready.fetch_add(1);
            eventually([&] { return ready.load() == threads; }, std::chrono::seconds(60));
            use(machine, t, false, good);
        });
    for (auto& thread : all) thread.join();
    EXPECT_EQ(good.load(), threads);
    machine.finish();
}

TEST(Threads, a_thousand_one_after_another_use_what_the_ones_before_left) {
    Machine machine(with_targets(1));
    std::atomic<int> good{0};
    const int threads = scaled(1000, 200);
    for (int t = 0; t < threads; ++t) std::thread([&, t] { use(machine, t, true, good); }).join();
    EXPECT_EQ(good.load(), threads);
    EXPECT_LE(machine.snapshot().tracks().size(), 10u) << "initiators are taken over, not piled up";
    machine.finish();
}

TEST(Threads, beyond_the_lanes_share_one_and_may_finish_there_too) {
    Machine machine(with_targets(1));
    std::vector<std::thread> all;
    std::atomic<int> good{0}, ready{0};
    constexpr int threads = 100;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            ready.fetch_add(1);
            eventually([&] { return ready.load() == threads; }, std::chrono::seconds(60));
            for (int round = 0; round < scaled(20, 4); ++round) {
                long sum = 0;
                const std::vector<int> x(10, t);
                machine.call<add>(in(x), inout(sum));
                if (t % 2 == 0) machine.barrier();
                else machine.finish();
                if (sum != 10L * t) return;
            }
            good.fetch_add(1);
        });
    for (auto& thread : all) thread.join();
    EXPECT_EQ(good.load(), threads);
}

TEST(Threads, that_end_with_work_outstanding_leave_it_to_the_machine) {  // contract 1
    for (int targets : {0, 1, 2}) {
        Machine machine(with_targets(targets));
        std::atomic<int> ran{0};
        auto* const count = &ran;
        std::thread([&] {
            for (int i = 0; i < 5000; ++i) machine.call([count] { count->fetch_add(1); });
        }).join();
        machine.finish();
        EXPECT_EQ(ran.load(), 5000);
    }
}

TEST(Threads, that_end_with_work_outstanding_do_not_stop_the_machine_from_going) {
    std::atomic<int> ran{0};
    auto* const count = &ran;
    {
        Machine machine(with_targets(1));
        std::thread([&] {
            for (int i = 0; i < 5000; ++i) machine.call([count] { count->fetch_add(1); });
        }).join();
    }
    EXPECT_EQ(ran.load(), 5000);
}

TEST(Threads, may_use_several_machines_in_turn) {
    Machine a(with_targets(1)), b(with_targets(2)), c(with_targets(0));
    std::atomic<int> good{0};
    std::vector<std::thread> all;
    for (int t = 0; t < 4; ++t)
        all.emplace_back([&] {
            for (int i = 0; i < 200; ++i) {
                long x = 0, y = 0, z = 0;
                const std::vector<int> data(5, i);
                const auto first = a.call<add>(in(data), inout(x));
                const auto second = b.call<add>(in(data), inout(y));
                const auto third = c.call<add>(in(data), inout(z));
                first.wait();
                second.wait(help);
                third.wait();
                if (x != 5L * i || y != x || z != x) return;
            }
            good.fetch_add(1);
        });
    for (auto& thread : all) thread.join();
    EXPECT_EQ(good.load(), 4);
}

TEST(Threads, may_call_one_machine_from_tasks_of_another) {
    Machine a(with_targets(2)), b(with_targets(1));  // one target of a waits, the other runs what b asks for
    long sum = 0;
    const std::vector<int> data{1, 2, 3};
    a.call(
         [&](long& to) {
             b.call([&](long& inner) { a.call<add>(in(data), inout(inner)).wait(); }, inout(to)).wait();
             b.call<add>(in(data), inout(to));
             b.barrier();
         },
         inout(sum))
        .wait();
    EXPECT_EQ(sum, 12);
}

TEST(Threads, an_initiator_taken_by_name_issues_for_its_thread) {
    Machine machine(with_targets(1));
    auto& initiator = machine.initiator();
    EXPECT_EQ(&initiator, &machine.initiator());
    long sum = 0;
    const std::vector<int> data{1, 2};
    initiator.call<add>(in(data), inout(sum));
    initiator.barrier();
    EXPECT_EQ(sum, 3);
    std::thread([&] { EXPECT_NE(&machine.initiator(), &initiator); }).join();
}

TEST(Threads, may_make_and_drop_machines_all_at_once) {
    std::vector<std::thread> all;
    std::atomic<int> good{0};
    for (int t = 0; t < 4; ++t)
        all.emplace_back([&] {
            for (int i = 0; i < scaled(30, 8); ++i) {
                Machine machine(with_targets(i % 3));
                long sum = 0;
                const std::vector<int> data{1, 2};
                machine.call<add>(in(data), inout(sum));
                machine.barrier();
                if (sum == 3) good.fetch_add(1);
            }
        });
    for (auto& thread : all) thread.join();
    EXPECT_EQ(good.load(), 4 * scaled(30, 8));
}

}  // namespace
