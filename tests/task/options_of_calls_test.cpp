// Calls that ask for more than to be run: call-backs, notification, deadlines, priorities, affinity; and the machine's watchdog.
#include <gtest/gtest.h>
#include <poll.h>

#include <numeric>
#include <string>
#include <vector>

#include "penstock/penstock.hpp"
#include "tests/task/support.hpp"

namespace {

using namespace penstock;
using namespace std::chrono_literals;
using task_tests::eventually;
using task_tests::Gate;
using task_tests::message_of;
using task_tests::scaled;
using task_tests::with_targets;

void add_one(int& value) { ++value; }
void fail() { throw std::runtime_error("no luck"); }

MachineOptions notified(Notification notification, int targets = 1) {
    auto options = with_targets(targets);
    options.notification = notification;
    return options;
}

// ---- call-backs ----

TEST(Callback, runs_on_the_issuing_thread_and_not_before_it_polls_or_waits) {
    for (const int targets : {0, 1, 2}) {
        Machine machine(with_targets(targets));
        int value = 0;
        std::thread::id where;
        const auto handle = machine.with({.then = [&](Handle) { where = std::this_thread::get_id(); }}).call<add_one>(inout(value));
        ASSERT_TRUE(eventually([&] { return handle.ready(); }));
        EXPECT_EQ(where, std::thread::id{});
        ASSERT_TRUE(eventually([&] { return machine.poll() == 1; }));
        EXPECT_EQ(where, std::this_thread::get_id());
        EXPECT_EQ(value, 1);
        EXPECT_EQ(machine.poll(), 0u);
    }
}

TEST(Callback, of_each_task_has_run_when_the_barrier_returns) {
    Machine machine(with_targets(2));
    constexpr int tasks = 2000;
    std::vector<int> values(tasks), seen(tasks);
    for (int i = 0; i < tasks; ++i)
        machine.with({.then = [&, i](Handle) { seen[i] = values[i]; }}).call<add_one>(inout(values[i]));
    machine.barrier();
    EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), tasks);
    machine.barrier();
    EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0), tasks);
}

TEST(Callback, may_issue_further_calls_which_the_same_barrier_covers) {
    Machine machine(with_targets(1));
    int value = 0;
    std::function<void(Handle)> again = [&](Handle) {
        if (value < 100) machine.with({.then = again}).call<add_one>(inout(value));
    };
    machine.with({.then = again}).call<add_one>(inout(value));
    machine.barrier();
    EXPECT_EQ(value, 100);
}

TEST(Callback, gets_the_failure_through_the_handle_and_the_barrier_does_not_report_it_again) {
    Machine machine(with_targets(1));
    std::string what;
    machine.with({.then = [&](Handle handle) { what = message_of<TaskFailed>([&] { handle.wait(); }); }}).call<fail>();
    EXPECT_NO_THROW(machine.barrier());
    EXPECT_NE(what.find("no luck"), std::string::npos) << what;
}

TEST(Callback, that_throws_does_not_keep_the_others_from_running) {
    Machine machine(with_targets(1));
    int ran = 0;
    for (int i = 0; i < 5; ++i)
        machine.with({.then = [&](Handle) { if (++ran < 3) throw std::runtime_error("call-back " + std::to_string(ran)); }}).call([] {});
    const auto text = message_of<CallbackFailed>([&] { machine.barrier(); });
    EXPECT_EQ(ran, 5);
    EXPECT_NE(text.find("call-back 1"), std::string::npos) << text;
    EXPECT_NE(text.find("and 1 more"), std::string::npos) << text;
    EXPECT_NO_THROW(machine.barrier());
}

TEST(Callback, may_wait_and_no_other_runs_meanwhile) {
    Machine machine(with_targets(1));
    int inside = 0, most = 0, ran = 0, value = 0;
    for (int i = 0; i < 20; ++i) {
        machine.with({.then = [&](Handle) {
            most = std::max(most, ++inside);
            machine.call<add_one>(inout(value)).wait();
            EXPECT_EQ(machine.poll(), 0u);
            --inside;
            ++ran;
        }}).call([] {});
    }
    machine.barrier();
    EXPECT_EQ(most, 1);
    EXPECT_EQ(ran, 20);
    EXPECT_EQ(value, 20);
}

TEST(Callback, runs_for_a_cancelled_task_too) {
    Machine machine(with_targets(1));
    Gate gate;
    machine.on(0).call(boxed([&] { gate.wait(); }));
    bool cancelled = false;
    const auto handle = machine
                            .with({.target = 0, .then = [&](Handle of) {
                                       try {
                                           of.wait();
                                       } catch (const TaskCancelled&) {
                                           cancelled = true;
                                       }
                                   }})
                            .call([] { FAIL() << "a cancelled task ran"; });
    EXPECT_TRUE(handle.cancel());
    gate.open();
    machine.barrier();
    EXPECT_TRUE(cancelled);
}

TEST(Callback, of_a_thread_that_has_ended_does_not_run_on_the_next_one) {
    Machine machine(with_targets(1));
    std::atomic<int> ran{0};
    for (int round = 0; round < 80; ++round) {  // more threads than a machine has initiators for
        std::thread([&] { machine.with({.then = [&](Handle) { ran.fetch_add(1); }}).call([] {}).wait(help); }).join();
        const int before = ran.load();
        std::thread([&] {
            machine.call([] {});
            machine.barrier();
            machine.poll();
        }).join();
        EXPECT_EQ(ran.load(), before);
    }
}

TEST(Callback, runs_while_its_thread_waits_for_any_of_several) {
    Machine machine(with_targets(1));
    Gate gate;
    const auto slow = machine.on(0).call(boxed([&] { gate.wait(); }));
    int value = 0;
    machine.with({.target = CallOptions::any_target, .then = [&](Handle) { gate.open(); }}).call<add_one>(inout(value));
    wait_any({slow, slow});
    EXPECT_EQ(value, 1);
}

TEST(Callback, in_a_task_is_refused) {
    for (const int targets : {0, 1}) {
        Machine machine(with_targets(targets));
        auto* const m = &machine;
        std::string what;
        auto* const text = &what;
        machine.call([m, text] { *text = message_of<UsageError>([m] { m->with({.then = [](Handle) {}}).call([] {}); }); }).wait();
        EXPECT_NE(what.find("does not poll"), std::string::npos) << what;
        machine.finish();
    }
}

// ---- notification ----

TEST(Notification, gives_the_same_results_by_each_mechanism) {
    for (const auto how : {Notification::polled, Notification::mailbox, Notification::interrupt}) {
        Machine machine(notified(how, 2));
        const int tasks = scaled(3000, 500);
        std::vector<int> values(static_cast<std::size_t>(tasks));
        for (auto& value : values) machine.call<add_one>(inout(value));
        machine.barrier();
        EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), tasks);
        for (int i = 0; i < scaled(300, 50); ++i) machine.call<add_one>(inout(values[0])).wait();
        EXPECT_EQ(values[0], 1 + scaled(300, 50));
        EXPECT_THROW(machine.call<fail>().wait(), TaskFailed);
        machine.call<fail>();
        EXPECT_THROW(machine.barrier(), TaskFailed);
        auto* const m = &machine;
        machine.call([m] {  // calls inside tasks need no mail
            for (int i = 0; i < 10; ++i) m->call([] {});
            m->barrier();
        });
        machine.finish();
    }
}

TEST(Notification, by_interrupt_makes_the_descriptor_readable_until_it_is_polled) {
    Machine machine(with_targets(1));
    const auto readable = [fd = machine.notification_descriptor()](int milliseconds) {
        pollfd wanted{fd, POLLIN, 0};
        return ::poll(&wanted, 1, milliseconds) == 1;
    };
    EXPECT_EQ(machine.poll(), 0u);
    EXPECT_FALSE(readable(0));
    for (int round = 0; round < 50; ++round) {
        int ran = 0;
        for (int i = 0; i < 3; ++i) machine.with({.then = [&](Handle) { ++ran; }, .notification = Notification::interrupt}).call([] {});
        while (ran < 3) {
            ASSERT_TRUE(readable(10'000)) << ran << " call-backs in round " << round;
            machine.poll();
        }
        EXPECT_FALSE(readable(0)) << round;
    }
}

TEST(Notification, by_mailbox_leaves_the_descriptor_alone) {
    Machine machine(with_targets(1));
    pollfd wanted{machine.notification_descriptor(), POLLIN, 0};
    const auto handle = machine.with({.notification = Notification::mailbox}).call([] {});
    ASSERT_TRUE(eventually([&] { return handle.ready(); }));
    EXPECT_EQ(::poll(&wanted, 1, 20), 0);
    ASSERT_TRUE(eventually([&] { return machine.poll() == 1; }));
}

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
        machine.with({.target = named ? 0 : CallOptions::any_target, .priority = Priority::high}).call(boxed([&order] { order.push_back(0); }));
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
    machine.with({.priority = Priority::high}).call(Again{m, done, count});
    const auto normal = machine.with({.target = 0}).call([done] { done->store(true); });
    normal.wait();
    machine.finish();
    EXPECT_TRUE(normal_ran.load());
    EXPECT_LT(urgent.load(), 1'000'000);
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
                .call([m](std::span<int> mine, int& here) {
                    ++mine[0];
                    here = m->current_target();
                }, inout(*block), out(target))
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
            machine.on(0).call([](view<int, 2> tile) { ++tile(0, 0); }, inout(view<int, 2>(matrix.data() + i * 16, 8, 16, 512)));
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
    struct Waits {
        Gate* gate;
        void operator()() const { gate->wait(); }
    };
    const auto handle = machine.on(0).call(Waits{&gate});
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
