// Calls that start when others have completed: predecessors of every kind, what happens when one fails, and waits that
// could not end.
#include <array>
#include <thread>
#include <vector>

#include "penstock/dependences.hpp"
#include "penstock/error.hpp"
#include "tests/task/support.hpp"

namespace {

using namespace penstock;
using task_tests::eventually;
using task_tests::Gate;
using task_tests::message_of;
using task_tests::scaled;
using task_tests::with_targets;

void wait_at(const Gate* gate, std::atomic<int>* value) {
    gate->wait();
    value->fetch_add(1);
}
void copy_value(const std::atomic<int>* value, std::atomic<int>* seen) { seen->store(value->load()); }
void add_one(std::atomic<int>* value) { value->fetch_add(1); }
void nothing() {}
void burns() { throw std::runtime_error("the bread burnt"); }

TEST(After, a_call_after_a_plain_task_starts_when_that_one_has_completed) {
    Machine machine(with_targets(2));
    Gate gate;
    std::atomic<int> value{0}, seen{-1};
    const Handle first = machine.call<wait_at>(&gate, &value);
    const Handle second = machine.after(first).call<copy_value>(&value, &seen);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(seen.load(), -1);
    EXPECT_FALSE(second.ready());
    gate.open();
    second.wait();
    EXPECT_EQ(seen.load(), 1);
}

TEST(After, the_issuing_thread_never_waits) {
    Machine machine(with_targets(1));
    Gate gate;
    std::atomic<int> value{0};
    Handle last = machine.call<wait_at>(&gate, &value);
    for (int i = 0; i < 5000; ++i) last = machine.after(last).call<add_one>(&value);
    EXPECT_EQ(value.load(), 0);
    gate.open();
    last.wait();
    EXPECT_EQ(value.load(), 5001);
}

TEST(After, a_call_comes_after_all_of_many) {
    Machine machine(with_targets(3));
    std::atomic<int> value{0}, seen{0};
    std::vector<Handle> handles;
    for (int i = 0; i < 100; ++i)
        handles.push_back(i % 2 == 0 ? machine.call<add_one>(&value) : machine.after(Handle{}).call<add_one>(&value));
    machine.after(std::span<const Handle>(handles)).call<copy_value>(&value, &seen);
    machine.barrier();
    EXPECT_EQ(seen.load(), 100);
}

TEST(After, tasks_of_another_thread_and_of_another_machine_are_predecessors_too) {
    Machine machine(with_targets(1)), elsewhere(with_targets(1));
    Gate gate;
    std::atomic<int> value{0}, seen{0};
    Handle plain, dependent, foreign = elsewhere.call<wait_at>(&gate, &value);
    std::thread([&] {
        plain = machine.call<wait_at>(&gate, &value);
        dependent = machine.after(plain).call<add_one>(&value);
    }).join();
    const Handle after = machine.after(plain, dependent, foreign).call<copy_value>(&value, &seen);
    EXPECT_FALSE(after.ready());
    gate.open();
    after.wait();
    EXPECT_EQ(seen.load(), 3);
}

TEST(After, completed_tasks_and_those_of_a_machine_that_is_gone_hold_up_nobody) {
    Handle gone;
    {
        Machine machine(with_targets(1));
        gone = machine.call<nothing>();
    }
    Machine machine(with_targets(1));
    const Handle done = machine.call<nothing>();
    done.wait();
    const Handle ordered = machine.after(done, gone, Handle{}).call<nothing>();
    ordered.wait();
    machine.after(ordered).call<nothing>().wait();
}

TEST(After, without_targets_each_call_runs_at_once) {
    Machine machine(with_targets(0));
    std::atomic<int> value{0}, seen{0};
    const Handle first = machine.call<add_one>(&value);
    const Handle second = machine.after(first).call<add_one>(&value);
    EXPECT_TRUE(second.ready());
    machine.after(second).call<copy_value>(&value, &seen);
    EXPECT_EQ(seen.load(), 2);
    machine.barrier();
}

TEST(After, a_barrier_covers_dependent_tasks_and_helps_with_them) {
    Machine machine(with_targets(1));
    Gate gate;
    std::atomic<int> value{0};
    machine.call<wait_at>(&gate, &value);  // holds the only target
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::thread::id ran;
    machine.after(Handle{}).call(
        [](const Gate* g, std::thread::id* where) {
            *where = std::this_thread::get_id();
            const_cast<Gate*>(g)->open();
        },
        &gate, &ran);
    machine.barrier();
    EXPECT_EQ(ran, std::this_thread::get_id());
    EXPECT_EQ(value.load(), 1);
}

TEST(After, finish_covers_the_dependent_tasks_of_all_threads) {
    Machine machine(with_targets(2));
    std::atomic<int> value{0};
    std::thread([&] {
        Handle last;
        for (int i = 0; i < 300; ++i) last = machine.after(last).call<add_one>(&value);
    }).join();
    machine.finish();
    EXPECT_EQ(value.load(), 300);
}

TEST(After, a_task_may_issue_tasks_after_others_and_its_barrier_covers_them) {
    Machine machine(with_targets(2));
    std::atomic<int> value{0}, wrong{0};
    for (int i = 0; i < 20; ++i) {
        machine.call(
            [](Machine* m, std::atomic<int>* v, std::atomic<int>* w) {
                std::atomic<int> mine{0}, seen{0};
                const Handle first = m->call<add_one>(&mine);
                const Handle second = m->after(first).call<add_one>(&mine);
                m->after(first, second).call<copy_value>(&mine, &seen);
                m->barrier();
                if (seen.load() != 2) w->fetch_add(1);
                v->fetch_add(1);
            },
            &machine, &value, &wrong);
    }
    machine.barrier();
    EXPECT_EQ(value.load(), 20);
    EXPECT_EQ(wrong.load(), 0);
}

TEST(After, a_dependent_task_may_be_for_one_target_alone) {
    Machine machine(with_targets(2));
    std::array<std::thread::id, 2> home{}, ran{};
    const auto where = [](std::thread::id* id) { *id = std::this_thread::get_id(); };
    for (int t = 0; t < 2; ++t) machine.on(t).call(where, &home[static_cast<std::size_t>(t)]);
    machine.barrier();
    for (int t = 0; t < 2; ++t) machine.after(Handle{}).on(t).call(where, &ran[static_cast<std::size_t>(t)]);
    machine.barrier();
    EXPECT_EQ(ran, home);
    EXPECT_THROW(machine.after(Handle{}).on(2), UsageError);
}

TEST(After, owned_arguments_travel_with_a_dependent_task_and_are_freed_when_it_is_not_run) {
    Machine machine(with_targets(1));
    const auto counted = std::make_shared<int>(1);
    std::atomic<int> value{0};
    const auto body = [](std::shared_ptr<int> p, std::atomic<int>* v) { v->fetch_add(*p); };
    machine.after(machine.call<nothing>()).call(body, own(std::shared_ptr<int>(counted)), &value).wait();
    machine.after(machine.call<burns>()).call(body, own(std::shared_ptr<int>(counted)), &value);
    EXPECT_THROW(machine.barrier(), TaskFailed);
    EXPECT_EQ(value.load(), 1);
    EXPECT_EQ(counted.use_count(), 1);
}

// ---- failures and cancellation ----

TEST(After, what_comes_after_a_failed_plain_task_is_cancelled_and_names_it) {
    Machine machine(with_targets(2));
    std::atomic<int> value{0};
    const Handle bad = machine.call<burns>();
    const Handle next = machine.after(bad).call<add_one>(&value);
    const Handle last = machine.after(next).call<add_one>(&value);
    const auto text = message_of<PredecessorFailed>([&] { last.wait(); });
    EXPECT_NE(text.find("burns"), std::string::npos) << text;
    EXPECT_NE(text.find("the bread burnt"), std::string::npos) << text;
    EXPECT_THROW(next.wait(), PredecessorFailed);
    try {
        machine.barrier();
        ADD_FAILURE() << "the barrier did not throw";
    } catch (const TaskFailed& failed) {
        EXPECT_EQ(failed.others(), 0u) << "those that did not run count as cancelled";
    }
    EXPECT_EQ(value.load(), 0);
}

TEST(After, a_predecessor_that_failed_before_the_call_cancels_too) {
    Machine machine(with_targets(1));
    std::atomic<int> value{0};
    const Handle plain = machine.call<burns>();
    const Handle dependent = machine.after(Handle{}).call<burns>();
    EXPECT_TRUE(eventually([&] { return plain.ready() && dependent.ready(); }));
    EXPECT_THROW(machine.after(plain).call<add_one>(&value).wait(), PredecessorFailed);
    EXPECT_THROW(machine.after(dependent).call<add_one>(&value).wait(), PredecessorFailed);
    EXPECT_THROW(machine.barrier(), TaskFailed);
    EXPECT_EQ(value.load(), 0);
}

TEST(After, behind_a_barrier_nothing_is_cancelled_for_a_failure_that_was_told_before) {
    Machine machine(with_targets(1));
    std::atomic<int> value{0};
    const Handle bad = machine.after(Handle{}).call<burns>();
    EXPECT_THROW(bad.wait(), TaskFailed);
    machine.barrier();
    machine.after(bad).call<add_one>(&value).wait();
    Gate gate;
    const Handle first = machine.call<wait_at>(&gate, &value);
    const Handle cancelled = machine.after(first).call<add_one>(&value);
    EXPECT_TRUE(cancelled.cancel());
    gate.open();
    EXPECT_THROW(cancelled.wait(), TaskCancelled);
    machine.barrier();
    machine.after(cancelled).call<add_one>(&value).wait();
    EXPECT_EQ(value.load(), 3);
}

TEST(After, what_comes_after_a_cancelled_task_is_cancelled) {
    Machine machine(with_targets(1));
    Gate gate;
    std::atomic<int> value{0};
    const Handle first = machine.call<wait_at>(&gate, &value);
    const Handle second = machine.after(first).call<add_one>(&value);
    const Handle third = machine.after(second).call<add_one>(&value);
    EXPECT_TRUE(second.cancel());
    gate.open();
    const auto text = message_of<PredecessorFailed>([&] { third.wait(); });
    EXPECT_NE(text.find("was cancelled"), std::string::npos) << text;
    EXPECT_THROW(second.wait(), TaskCancelled);
    machine.barrier();
    EXPECT_EQ(value.load(), 1);
}

TEST(After, the_first_of_several_that_fail_is_enough) {
    Machine machine(with_targets(3));
    std::atomic<int> value{0};
    std::vector<Handle> bad;
    for (int i = 0; i < 8; ++i) bad.push_back(machine.after(Handle{}).call<burns>());
    EXPECT_THROW(machine.after(std::span<const Handle>(bad)).call<add_one>(&value).wait(), PredecessorFailed);
    EXPECT_THROW(machine.barrier(), TaskFailed);
    EXPECT_EQ(value.load(), 0);
}

// ---- waits that could not end ----

TEST(After, a_task_that_waits_for_one_that_comes_after_it_is_told) {
    Machine machine(with_targets(2));
    Gate gate;
    Handle own, between, last;
    std::string said;
    own = machine.after(Handle{}).call(
        [](const Gate* g, const Handle* h, std::string* s) {
            g->wait();
            *s = message_of<WouldDeadlock>([h] { h->wait(); });
        },
        &gate, &last, &said);
    between = machine.after(own).call<nothing>();
    last = machine.after(between).call<nothing>();
    gate.open();
    machine.barrier();
    EXPECT_NE(said.find("comes after"), std::string::npos) << said;
}

TEST(After, a_barrier_of_a_task_whose_child_comes_after_it_is_told) {
    Machine machine(with_targets(2));
    Gate gate;
    Handle own;
    std::string said;
    std::atomic<int> value{0};
    own = machine.after(Handle{}).call(
        [](const Gate* g, Machine* m, const Handle* h, std::string* s, std::atomic<int>* v) {
            g->wait();
            m->after(*h).call<add_one>(v);
            *s = message_of<WouldDeadlock>([m] { m->barrier(); });
        },
        &gate, &machine, &own, &said, &value);
    gate.open();
    machine.barrier();
    machine.finish();
    EXPECT_FALSE(said.empty());
    EXPECT_EQ(value.load(), 1) << "the child runs when the task that it comes after has ended";
}

TEST(After, a_wait_inside_a_task_for_one_that_does_not_come_after_it_goes_on) {
    Machine machine(with_targets(2));
    Gate gate;
    std::atomic<int> value{0}, seen{0};
    const Handle slow = machine.call<wait_at>(&gate, &value);
    const Handle other = machine.after(slow).call<add_one>(&value);
    const Handle waits = machine.after(Handle{}).call(
        [](const Handle* h, const std::atomic<int>* v, std::atomic<int>* s) {
            h->wait();
            s->store(v->load());
        },
        &other, &value, &seen);
    machine.after(waits).call<nothing>();
    gate.open();
    machine.barrier();
    EXPECT_EQ(seen.load(), 2);
}

TEST(After, many_threads_issue_after_one_another) {
    Machine machine(with_targets(2));
    constexpr int threads = 4;
    const int rounds = scaled(300, 60);
    std::array<std::atomic<int>, threads> counts{};
    std::array<std::atomic<int>, threads> wrong{};
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            Handle last;
            for (int i = 0; i < rounds; ++i) {
                const Handle plain = machine.call<nothing>();
                last = machine.after(last, plain)
                           .call(
                               [](std::atomic<int>* count, std::atomic<int>* bad, int expected) {
                                   if (count->fetch_add(1) != expected) bad->fetch_add(1);
                               },
                               &counts[t], &wrong[t], i);
            }
            machine.barrier();
        });
    }
    for (auto& thread : all) thread.join();
    for (std::size_t t = 0; t < threads; ++t) {
        EXPECT_EQ(counts[t].load(), rounds);
        EXPECT_EQ(wrong[t].load(), 0);
    }
}

}  // namespace
