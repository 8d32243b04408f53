// Handles: cheap, copyable, safe after their machine is gone; any thread may wait (contract 11, 13).
#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

static_assert(std::is_trivially_copyable_v<Handle> && sizeof(Handle) == 16);

void set(int& x, int value) { x = value; }
void fail() { throw std::runtime_error("as asked"); }

class Handles : public testing::TestWithParam<int> {
  protected:
    Machine machine{with_targets(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(OnTargets, Handles, testing::Values(0, 1, 2));

TEST_P(Handles, made_by_default_stand_for_no_task_and_are_complete) {
    const Handle none;
    EXPECT_TRUE(none.ready());
    none.wait();
    none.wait(help);
    EXPECT_FALSE(none.cancel());
    EXPECT_EQ(none, Handle());
    wait_all({none, none});
    EXPECT_EQ(wait_any({none}), 0u);
}

TEST_P(Handles, are_told_apart) {
    int a = 0, b = 0;
    const auto first = machine.call<set>(out(a), 1), second = machine.call<set>(out(b), 2);
    EXPECT_NE(first, second);
    const auto copy = first;
    EXPECT_EQ(copy, first);
    wait_all({first, second});
}

TEST_P(Handles, may_be_waited_for_twice_and_in_any_order) {
    std::vector<int> x(2000);
    std::vector<Handle> handles;
    for (int i = 0; i < 2000; ++i) handles.push_back(machine.call<set>(out(x[static_cast<std::size_t>(i)]), i + 1));
    for (std::size_t i = handles.size(); i-- > 0;) {
        handles[i].wait();
        ASSERT_EQ(x[i], static_cast<int>(i) + 1);
        ASSERT_TRUE(handles[i].ready());
    }
    for (const auto& handle : handles) handle.wait(help);
}

TEST_P(Handles, throw_the_failure_each_time_they_are_waited_for) {
    const auto handle = machine.call<fail>();
    EXPECT_THROW(handle.wait(), TaskFailed);
    EXPECT_THROW(handle.wait(), TaskFailed);
    EXPECT_THROW(handle.wait(help), TaskFailed);
    EXPECT_NO_THROW(machine.barrier()) << "a failure that a wait has thrown is not thrown again by a barrier";
    EXPECT_THROW(handle.wait(), TaskFailed)
        << "the barrier delivered nothing, so the handle gives the same answer as before";
}

TEST_P(Handles, become_ready_without_being_waited_for) {
    int x = 0;
    const auto handle = machine.call<set>(out(x), 3);
    EXPECT_TRUE(eventually([&] { return handle.ready(); }));
    EXPECT_EQ(x, 3);
}

TEST_P(Handles, can_be_waited_for_with_help_while_everything_else_waits_too) {
    std::vector<int> x(3000);
    Handle last;
    for (auto& v : x) last = machine.call<set>(out(v), 1);
    last.wait(help);
    EXPECT_EQ(x.back(), 1);
    machine.barrier();
    for (int v : x) ASSERT_EQ(v, 1);
}

TEST_P(Handles, of_many_tasks_are_waited_for_at_once) {
    std::vector<int> x(100);
    std::vector<Handle> handles;
    for (auto& v : x) handles.push_back(machine.call<set>(out(v), 1));
    wait_all(handles);
    for (int v : x) EXPECT_EQ(v, 1);
    wait_all(std::span<const Handle>());
}

TEST_P(Handles, waited_for_at_once_throw_the_first_failure_after_all_have_completed) {
    int x = 0;
    const auto a = machine.call<fail>(), b = machine.call<set>(out(x), 7), c = machine.call<fail>();
    EXPECT_THROW(wait_all({a, b, c}), TaskFailed);
    EXPECT_EQ(x, 7);
    EXPECT_TRUE(a.ready() && b.ready() && c.ready());
}

TEST_P(Handles, waited_for_any_give_the_index_of_one_that_completed) {
    EXPECT_THROW(wait_any(std::span<const Handle>()), UsageError);
    int x = 0, y = 0;
    const std::vector<Handle> handles{machine.call<set>(out(x), 1), machine.call<set>(out(y), 2)};
    const auto done = wait_any(handles);
    ASSERT_LT(done, 2u);
    EXPECT_TRUE(handles[done].ready());
    EXPECT_EQ(done == 0 ? x : y, done == 0 ? 1 : 2);
    const auto failed = machine.call<fail>();
    EXPECT_THROW(wait_any({failed}), TaskFailed);
    machine.barrier();
}

TEST_P(Handles, may_be_waited_for_from_another_thread) {
    std::vector<int> x(200);
    std::vector<Handle> handles;
    for (auto& v : x) handles.push_back(machine.call<set>(out(v), 5));
    const auto failed = machine.call<fail>();
    std::thread other([&] {
        for (std::size_t i = 0; i < handles.size(); ++i) {
            handles[i].wait();
            EXPECT_EQ(x[i], 5);
            EXPECT_TRUE(handles[i].ready());
        }
        EXPECT_THROW(failed.wait(), TaskFailed);
        EXPECT_EQ(wait_any(handles), 0u);
    });
    other.join();
    machine.barrier();
}

TEST_P(Handles, older_than_their_machine_say_so) {
    std::optional<Machine> shorter(with_targets(GetParam()));
    int x = 0;
    const auto done = shorter->call<set>(out(x), 1);
    done.wait();
    const auto dropped = shorter->call<set>(out(x), 2);
    shorter.reset();
    EXPECT_EQ(x, 2) << "destruction finishes all tasks";
    for (const auto& handle : {done, dropped}) {
        EXPECT_TRUE(handle.ready());
        EXPECT_THROW(handle.wait(), MachineGone);
        EXPECT_THROW(handle.wait(help), MachineGone);
        EXPECT_FALSE(handle.cancel());
    }
    // The next machine may use the same memory again: still another task.
    Machine next(with_targets(GetParam()));
    for (int i = 0; i < 10; ++i) next.call<set>(out(x), 3).wait();
    EXPECT_THROW(done.wait(), MachineGone);
}

TEST(Cancelling, skips_a_task_that_has_not_started) {
    Machine machine(with_targets(1));
    Gate gate;
    int x = 0;
    std::atomic<bool> inside{false};
    machine.on(0).call(boxed([&] {
        inside.store(true);
        gate.wait();
    }));
    ASSERT_TRUE(eventually([&] { return inside.load(); }));
    const auto a = machine.on(0).call<set>(out(x), 1);
    const auto counted = std::make_shared<int>(0);
    const auto b = machine.on(0).call(boxed([counted, &x] { x = 2; }));
    EXPECT_FALSE(a.ready());
    EXPECT_TRUE(a.cancel());
    EXPECT_TRUE(b.cancel());
    EXPECT_TRUE(b.cancel()) << "asking twice is asking once";
    gate.open();
    EXPECT_THROW(a.wait(), TaskCancelled);
    EXPECT_THROW(a.wait(), TaskCancelled);
    EXPECT_NO_THROW(machine.barrier()) << "a barrier takes no notice";
    EXPECT_EQ(x, 0);
    EXPECT_EQ(counted.use_count(), 1) << "a skipped closure is destroyed";
    EXPECT_FALSE(a.cancel());
    machine.call<set>(out(x), 4).wait();
    EXPECT_EQ(x, 4);
}

TEST(Cancelling, of_what_waits_in_the_deque_from_another_thread) {
    Machine machine(with_targets(1));
    Gate gate;
    std::atomic<bool> inside{false};
    machine.call(boxed([&] {
        inside.store(true);
        gate.wait();
    }));
    ASSERT_TRUE(eventually([&] { return inside.load(); }));
    std::vector<int> x(100);
    std::vector<Handle> handles;
    for (auto& v : x) handles.push_back(machine.call<set>(out(v), 1));
    std::thread([&] {
        for (std::size_t i = 0; i < 100; i += 2) EXPECT_TRUE(handles[i].cancel());
    }).join();
    gate.open();
    machine.barrier();
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(x[i], i % 2 == 0 ? 0 : 1) << i;
}

// each thread waits for the task that the one before it issued
TEST(HandOver, between_threads_carries_the_results_along) {
    Machine machine(with_targets(2));
    constexpr int threads = 8;
    const int rounds = scaled(300, 50);
    std::vector<std::atomic<const Handle*>> posts(threads);
    std::vector<std::vector<int>> values(threads, std::vector<int>(static_cast<std::size_t>(rounds)));
    std::vector<std::vector<Handle>> handles(threads, std::vector<Handle>(static_cast<std::size_t>(rounds)));
    std::vector<std::atomic<int>> issued(threads);
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            for (int r = 0; r < rounds; ++r) {
                const auto i = static_cast<std::size_t>(r);
                int previous = r;
                if (t > 0) {
                    while (issued[t - 1].load(std::memory_order_acquire) <= r) std::this_thread::yield();
                    handles[t - 1][i].wait();
                    previous = values[t - 1][i];
                }
                handles[t][i] = machine.call<set>(out(values[t][i]), previous + 1);
                issued[t].store(r + 1, std::memory_order_release);
            }
            machine.barrier();
        });
    }
    for (auto& thread : all) thread.join();
    for (int r = 0; r < rounds; ++r) EXPECT_EQ(values[threads - 1][static_cast<std::size_t>(r)], r + threads);
}

TEST(HandOver, does_not_confuse_a_thread_that_used_a_machine_that_is_gone) {
    // A thread whose last machine is gone asks after another thread's handle, while that thread goes on issuing.
    std::atomic<int> stage{0};
    std::atomic<bool> stop{false};
    std::optional<Machine> first(with_targets(1));
    std::vector<Handle> handles(64);
    std::thread asker([&] {
        int x = 0;
        first->call<set>(out(x), 1).wait();
        stage.store(1);
        while (stage.load() != 2) std::this_thread::yield();
        while (!stop.load()) static_cast<void>(handles[0].ready());
    });
    while (stage.load() != 1) std::this_thread::yield();
    first.reset();
    Machine second(with_targets(1));
    int x = 0;
    std::vector<int> y(2000);
    std::thread issuer([&] {
        handles[0] = second.call<set>(out(x), 1);
        stage.store(2);
        for (int round = 0; round < scaled(200, 20); ++round) {
            for (auto& v : y) second.call<set>(out(v), round);
            second.barrier();
            for (int v : y) ASSERT_EQ(v, round);
        }
        stop.store(true);
    });
    issuer.join();
    asker.join();
}

}  // namespace
