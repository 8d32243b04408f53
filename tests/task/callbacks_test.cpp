// Call-backs, and how an initiator learns of completions: by polling, by mailbox, by interrupt.
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
        const auto handle =
            machine.with({.then = [&](Handle) { where = std::this_thread::get_id(); }}).call<add_one>(inout(value));
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
        machine
            .with({.then =
                       [&](Handle) {
                           if (++ran < 3) throw std::runtime_error("call-back " + std::to_string(ran));
                       }})
            .call([] {});
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
        machine
            .with({.then =
                       [&](Handle) {
                           most = std::max(most, ++inside);
                           machine.call<add_one>(inout(value)).wait();
                           EXPECT_EQ(machine.poll(), 0u);
                           --inside;
                           ++ran;
                       }})
            .call([] {});
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
                            .with({.target = 0,
                                   .then =
                                       [&](Handle of) {
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

TEST(Callback, of_a_call_is_not_one_of_the_calls_that_its_task_makes) {
    for (const int targets : {0, 1}) {
        Machine machine(with_targets(targets));
        auto* const m = &machine;
        int ran = 0;
        machine
            .with({.then =
                       [&](Handle done) {
                           done.wait();
                           ++ran;
                       }})
            .call([m] { m->call([] {}); });
        machine.barrier();
        EXPECT_EQ(ran, 1);
        machine.finish();
    }
}

TEST(Callback, that_throws_does_not_hide_a_failed_task_from_finish) {
    Machine machine(with_targets(1));
    machine.call<fail>();
    machine.with({.then = [](Handle) { throw std::runtime_error("call-back"); }}).call([] {});
    EXPECT_THROW(machine.finish(), TaskFailed);
    EXPECT_THROW(machine.barrier(), CallbackFailed);
    EXPECT_NO_THROW(machine.finish());
}

TEST(Callback, in_a_task_is_refused) {
    for (const int targets : {0, 1}) {
        Machine machine(with_targets(targets));
        auto* const m = &machine;
        std::string what;
        auto* const text = &what;
        machine
            .call([m, text] { *text = message_of<UsageError>([m] { m->with({.then = [](Handle) {}}).call([] {}); }); })
            .wait();
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

TEST(Notification, of_others_does_not_hold_up_a_wait_for_a_task_that_has_none) {
    for (const auto how : {Notification::mailbox, Notification::interrupt}) {
        Machine machine(notified(how, 2));
        Gate gate;
        const auto first = machine.call([] {});
        const auto dependent = machine.after(first).call([] {});
        machine.on(0).call(boxed([&] { gate.wait(); }));
        dependent.wait();
        gate.open();
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
        for (int i = 0; i < 3; ++i)
            machine.with({.then = [&](Handle) { ++ran; }, .notification = Notification::interrupt}).call([] {});
        while (ran < 3) {
            ASSERT_TRUE(readable(10'000)) << ran << " call-backs in round " << round;
            machine.poll();
        }
        // Who completed the last one may come late with its signal, when the call-back has run by another's.
        EXPECT_TRUE(eventually([&] {
            machine.poll();
            return !readable(0);
        })) << round;
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

}  // namespace
