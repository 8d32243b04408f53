// Deadlines, priorities and affinity of calls; what waits; jobs in flight; the watchdog.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "penstock/penstock.hpp"
#include "tests/task/support.hpp"

namespace {

using namespace penstock;
using namespace std::chrono_literals;
using task_tests::eventually;
using task_tests::Gate;
using task_tests::message_of;
using task_tests::with_targets;

// ---- deadlines ----

TEST(Deadline, that_is_missed_is_counted_and_stands_in_the_timeline) {
    Machine machine(with_targets(1));
    machine.start_timeline();
    machine.with({.target = 0, .deadline = 1ms}).call([] { std::this_thread::sleep_for(5ms); });
    machine.with({.target = 0, .deadline = 1h}).call([] {});
    machine.finish();
    std::uint64_t late = 0;
    const auto snapshot = machine.snapshot();
    for (const auto& [key, entry] : snapshot.tracks())
        if (key.first == trace::Role::target) late += std::get<trace::TargetTotals>(entry.totals).late;
    EXPECT_EQ(late, 1u);
    const auto timeline = machine.timeline_json();
    EXPECT_NE(timeline.find("\"late "), std::string::npos) << timeline;
    EXPECT_THROW(machine.with({.deadline = -1ns}), UsageError);
}

// ---- priorities ----

TEST(Priority, puts_a_task_before_all_normal_ones_that_wait) {
    Machine machine(with_targets(1));
    for (const bool named : {false, true}) {
        Gate gate;
        std::atomic<bool> inside{false};
        std::vector<int> order;
        machine.on(0).call(boxed([&] {
            inside.store(true);
            gate.wait();
        }));
        ASSERT_TRUE(eventually([&] { return inside.load(); }));
        for (int i = 1; i <= 20; ++i) machine.on(0).call(boxed([&order, i] { order.push_back(i); }));
        machine.with({.target = named ? 0 : CallOptions::any_target, .priority = Priority::high}).call(boxed([&order] {
            order.push_back(0);
        }));
        gate.open();
        ASSERT_TRUE(eventually([&] { return machine.pending().tasks == 0; }));  // without the initiator's help
        machine.finish();
        ASSERT_EQ(order.size(), 21u);
        EXPECT_EQ(order.front(), 0);
    }
}

TEST(Priority, does_not_starve_the_normal_tasks) {
    Machine machine(with_targets(1));
    std::atomic<bool> normal_ran{false};
    std::atomic<int> urgent{0};
    auto* const m = &machine;
    auto* const done = &normal_ran;
    auto* const count = &urgent;
    struct Again {  // a task of high priority that is followed by another one until the normal task has run
        Machine* machine;
        std::atomic<bool>* done;
        std::atomic<int>* count;
        void operator()() const {
            count->fetch_add(1);
            if (!done->load() && count->load() < 1'000'000) machine->with({.priority = Priority::high}).call(*this);
        }
    };
    for (const int target : {0, CallOptions::any_target}) {  // in the lane, in the deque
        normal_ran.store(false);
        urgent.store(0);
        machine.with({.priority = Priority::high}).call(Again{m, done, count});
        const auto normal = machine.with({.target = target}).call([done] { done->store(true); });
        normal.wait();  // does not help
        machine.finish();
        EXPECT_LT(urgent.load(), 1'000'000);
    }
}

// ---- affinity ----

TEST(Affinity, sends_a_task_to_the_target_where_its_block_last_lay) {
    Machine machine(with_targets(2));
    std::vector<int> first(16), second(16);
    std::vector<std::vector<int>> processors(2);
    for (int round = 0; round < 50; ++round) {
        int block_number = 0;
        for (auto* const block : {&first, &second}) {
            auto* const m = &machine;
            int target = -1;
            machine.with({.affine = true})
                .call(
                    [m](std::span<int> mine, int& here) {
                        ++mine[0];
                        here = m->current_target();
                    },
                    inout(*block), out(target))
                .wait();
            processors[static_cast<std::size_t>(block_number++)].push_back(target);
        }
    }
    for (const auto& where : processors) {
        ASSERT_EQ(where.size(), 50u);
        EXPECT_EQ(where, std::vector<int>(50, where[0]));
    }
    EXPECT_NE(processors[0][0], processors[1][0]);  // two blocks, two targets
    EXPECT_EQ(first[0], 50);
}

// ---- pending ----

TEST(Pending, counts_what_no_target_has_begun) {
    Machine machine(with_targets(1));
    EXPECT_EQ(machine.pending().tasks, 0u);
    Gate gate;
    std::atomic<bool> inside{false};
    machine.on(0).call(boxed([&] {
        inside.store(true);
        gate.wait();
    }));
    ASSERT_TRUE(eventually([&] { return inside.load(); }));
    for (int i = 0; i < 1000; ++i) machine.call([] {});
    const auto pending = machine.pending();
    EXPECT_GE(pending.tasks, 900u);
    EXPECT_LE(pending.tasks, 1000u);
    EXPECT_EQ(pending.bytes % pending.tasks, 0u);
    gate.open();
    machine.finish();
    EXPECT_EQ(machine.pending().tasks, 0u);
}

// ---- jobs in flight ----

TEST(JobsInFlight, are_prefetched_as_many_as_asked_for) {
    std::vector<int> matrix(1024 * 512);
    const auto prefetched = [&](std::uint32_t jobs) {
        auto options = with_targets(1);
        options.prefetch = Prefetch::always;
        options.jobs_in_flight = jobs;
        Machine machine(options);
        Gate gate;
        machine.on(0).call(boxed([&] { gate.wait(); }));
        for (std::size_t i = 0; i < 20; ++i)
            machine.on(0).call([](view<int, 2> tile) { ++tile(0, 0); },
                               inout(view<int, 2>(matrix.data() + i * 16, 8, 16, 512)));
        gate.open();
        machine.finish();
        std::uint64_t tasks = 0;
        const auto snapshot = machine.snapshot();
        for (const auto& [key, entry] : snapshot.tracks())
            if (key.first == trace::Role::target) tasks += std::get<trace::TargetTotals>(entry.totals).prefetched_tasks;
        return tasks;
    };
    EXPECT_EQ(prefetched(1), 0u);
    EXPECT_GE(prefetched(2), 18u);
    EXPECT_GE(prefetched(4), 18u);
    auto options = with_targets(1);
    options.jobs_in_flight = 0;
    EXPECT_THROW(Machine{options}, UsageError);
    options.jobs_in_flight = 33;
    EXPECT_THROW(Machine{options}, UsageError);
}

// ---- the watchdog ----

TEST(Watchdog, turns_a_wait_without_end_into_a_report) {
    auto options = with_targets(1);
    options.watchdog = 50ms;
    Machine machine(options);
    Gate gate;
    std::atomic<bool> begun{false};
    struct Waits {
        Gate* gate;
        std::atomic<bool>* begun;
        void operator()() const {
            begun->store(true);
            gate->wait();
        }
    };
    const auto handle = machine.on(0).call(Waits{&gate, &begun});
    while (!begun.load()) std::this_thread::yield();
    const auto report = message_of<Stalled>([&] { handle.wait(); });
    EXPECT_NE(report.find("target 0 runs"), std::string::npos) << report;
    EXPECT_NE(report.find("Waits"), std::string::npos) << report;
    EXPECT_THROW(machine.barrier(), Stalled);
    EXPECT_THROW(machine.finish(), Stalled);
    gate.open();
    EXPECT_NO_THROW(machine.finish());
}

TEST(Watchdog, leaves_a_wait_alone_during_which_tasks_end) {
    auto options = with_targets(1);
    options.watchdog = 200ms;
    Machine machine(options);
    for (int i = 0; i < 10; ++i) machine.on(0).call([] { std::this_thread::sleep_for(40ms); });
    EXPECT_NO_THROW(machine.barrier());
}

}  // namespace
