// The beginning and end of machines: options out of range, destruction inside a task, forks, few processors.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

void add_one(int& x) { ++x; }

/// Runs `body` in a forked child and gives its exit code; 200 when it was killed, by a signal or by hanging for 20
/// seconds.
template <class Body>
int in_a_child(Body&& body) {
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(20);
        int code = 99;
        try {
            code = body();
        } catch (...) {
        }
        _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

TEST(Options, out_of_range_are_refused_with_the_limit_in_the_message) {
    const auto refused = [](auto change) {
        MachineOptions options = with_targets(1);
        change(options);
        return message_of<UsageError>([&] { Machine machine(options); });
    };
    EXPECT_NE(refused([](auto& o) { o.targets = 10'000; }).find("256"), std::string::npos);
    refused([](auto& o) { o.targets = -2; });
    refused([](auto& o) { o.depth = 0; });
    EXPECT_NE(refused([](auto& o) { o.depth = 1025; }).find("1024"), std::string::npos);
    refused([](auto& o) { o.nesting_limit = 0; });
    refused([](auto& o) { o.spin = std::chrono::nanoseconds(-1); });
    Machine machine(with_targets(1));
    int x = 0;
    machine.call<add_one>(inout(x)).wait();
    EXPECT_EQ(x, 1);
}

TEST(Options, of_no_targets_run_every_task_inside_its_call) {
    Machine machine(with_targets(0));
    EXPECT_EQ(machine.targets(), 0);
    int x = 0;
    const auto handle = machine.call<add_one>(inout(x));
    EXPECT_EQ(x, 1);
    EXPECT_TRUE(handle.ready());
}

TEST(Options, by_default_leave_one_processor_to_the_caller) {
    Machine machine;
    EXPECT_EQ(machine.targets(), Topology::here().usable() - 1);
    EXPECT_FALSE(machine.description().empty());
}

TEST(Processors, sixty_four_targets_work_where_there_are_few) {
    Machine machine(with_targets(64));
    std::vector<int> x(2000);
    for (auto& v : x) machine.call<add_one>(inout(v));
    machine.barrier();
    for (int t = 0; t < 64; ++t) machine.on(t).call<add_one>(inout(x[static_cast<std::size_t>(t)]));
    machine.barrier();
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], i < 64 ? 2 : 1);
}

TEST(Processors, sixty_four_targets_work_on_one_allowed_processor) {
    // The topology is looked at once in a process, so this test runs itself again with one processor.
    if (std::getenv("PENSTOCK_TEST_ONE_PROCESSOR") == nullptr) {
        const pid_t child = fork();
        if (child == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
            sched_setaffinity(0, sizeof one, &one);
            setenv("PENSTOCK_TEST_ONE_PROCESSOR", "1", 1);
            execl("/proc/self/exe", "test_task",
                  "--gtest_filter=Processors.sixty_four_targets_work_on_one_allowed_processor",
                  static_cast<char*>(nullptr));
            _exit(98);
        }
        int status = 0;
        waitpid(child, &status, 0);
        ASSERT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 0);
        return;
    }
    EXPECT_EQ(Topology::here().usable(), 1);
    {
        Machine machine;
        EXPECT_EQ(machine.targets(), 0);
    }
    for (const auto distribution : {Distribution::balanced, Distribution::round_robin}) {
        auto options = with_targets(64);
        options.distribution = distribution;
        Machine machine(options);
        std::vector<int> x(500);
        for (auto& v : x) machine.call<add_one>(inout(v));
        machine.barrier();
        for (auto& v : x) machine.call<add_one>(inout(v)).wait();
        for (int v : x) ASSERT_EQ(v, 2);
    }
}

TEST(Destruction, inside_one_of_its_tasks_lets_the_task_end_first) {
    for (int targets : {1, 2}) {
        std::atomic<int> after{0};
        auto* const count = &after;
        auto* const machine = new Machine(with_targets(targets));
        machine->on(0).call([machine, count] {
            for (int i = 0; i < 10; ++i) machine->call([count] { count->fetch_add(1); });
            delete machine;
            count->fetch_add(100);
        });
        EXPECT_TRUE(eventually([&] { return after.load() == 110; })) << after.load();
        // The machine stops behind the task; the next one is not disturbed.
        Machine next(with_targets(1));
        int x = 0;
        next.call<add_one>(inout(x)).wait();
        EXPECT_EQ(x, 1);
    }
}

TEST(Destruction, inside_a_task_that_the_caller_runs_while_it_helps) {
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> after{0};
        auto* const count = &after;
        auto* const machine = new Machine(with_targets(1));
        for (int i = 0; i < 50; ++i) machine->call([count] { count->fetch_add(1); });
        machine->call([machine] { delete machine; });
        // The pointer is gone at some moment, so the test may not touch it: the tasks must end all the same.
        EXPECT_TRUE(eventually([&] { return after.load() == 50; }));
    }
}

TEST(Destruction, waits_for_everything_that_was_issued) {
    std::vector<int> x(3000);
    {
        Machine machine(with_targets(2));
        for (auto& v : x) machine.call<add_one>(inout(v));
    }
    for (int v : x) ASSERT_EQ(v, 1);
}

TEST(Fork, leaves_the_child_a_typed_error_and_no_hang) {
    if (under_tsan) GTEST_SKIP() << "the thread sanitizer does not follow forks of programs with threads";
    Machine machine(with_targets(2));
    int x = 0;
    const auto done = machine.call<add_one>(inout(x));
    done.wait();
    Initiator& mine = machine.initiator();
    std::atomic<bool> stop{false};
    machine.on(1).call(boxed([&stop] {
        while (!stop.load()) std::this_thread::yield();
    }));
    const int code = in_a_child([&] {
        int failures = 0;
        const auto gone = [&](auto body) {
            try {
                body();
                ++failures;
            } catch (const MachineGone&) {
            }
        };
        int y = 0;
        gone([&] { machine.call<add_one>(inout(y)); });
        gone([&] { machine.on(0).call<add_one>(inout(y)); });
        gone([&] { machine.barrier(); });
        gone([&] { machine.finish(); });
        gone([&] { mine.call<add_one>(inout(y)); });
        gone([&] { mine.barrier(); });
        gone([&] { done.wait(); });
        if (!done.ready() || done.cancel()) ++failures;
        return failures;
    });
    EXPECT_EQ(code, 0);
    stop.store(true);
    machine.finish();
    machine.call<add_one>(inout(x)).wait();
    EXPECT_EQ(x, 2) << "the parent goes on";
}

TEST(Fork, lets_the_child_make_a_machine_of_its_own) {
    if (under_tsan) GTEST_SKIP() << "the thread sanitizer does not follow forks of programs with threads";
    auto machine = std::make_unique<Machine>(with_targets(2));
    int x = 0;
    machine->call<add_one>(inout(x)).wait();
    for (int round = 0; round < 10; ++round) {
        const int code = in_a_child([&] {
            machine.reset();  // destroying the parent's machine here must not wait for anything
            Machine mine(with_targets(2));
            std::vector<int> y(500);
            for (auto& v : y) mine.call<add_one>(inout(v));
            mine.barrier();
            for (int v : y)
                if (v != 1) return 1;
            return 0;
        });
        ASSERT_EQ(code, 0);
    }
}

TEST(Fork, while_other_threads_call_leaves_the_child_able_to_make_a_machine) {
    if (under_tsan) GTEST_SKIP() << "the thread sanitizer does not follow forks of programs with threads";
    if (under_asan)
        GTEST_SKIP()
            << "the address sanitizer's allocator may be locked by another thread at the fork, for ever in the child";
    std::atomic<bool> stop{false};
    std::thread maker([&] {
        while (!stop.load()) {
            Machine machine(with_targets(1));
            int x = 0;
            machine.call<add_one>(inout(x)).wait();
        }
    });
    int good = 0;
    for (int round = 0; round < scaled(100, 20); ++round)
        good += in_a_child([] {
                    Machine mine(with_targets(1));
                    int y = 0;
                    mine.call<add_one>(inout(y)).wait();
                    return y == 1 ? 0 : 1;
                }) == 0;
    stop.store(true);
    maker.join();
    EXPECT_EQ(good, scaled(100, 20));
}

/// Machines that go while another thread waits for a task that has failed, and was told.
TEST(FailuresOfAMachineThatGoes, do_not_become_successes) {
    int successes = 0;
    for (int round = 0; round < scaled(200, 50); ++round) {
        auto machine = std::make_unique<Machine>(with_targets(1));
        Gate gate;
        const auto failing = machine->call(
            [](const Gate* until) {
                until->wait();
                throw 1;
            },
            &gate);
        std::atomic<bool> waits{false};
        std::thread waiter([&] {
            waits = true;
            try {
                failing.wait();
                ++successes;
            } catch (const TaskFailed&) {
            } catch (const MachineGone&) {
            }
        });
        ASSERT_TRUE(eventually([&] { return waits.load(); }));
        // it has begun to sleep between looks
        std::this_thread::sleep_for(std::chrono::microseconds(300 + round % 10 * 20));
        gate.open();
        EXPECT_THROW(failing.wait(), TaskFailed);
        machine.reset();
        waiter.join();
    }
    EXPECT_EQ(successes, 0);
}

/// For the address and the thread sanitizer: handles of other threads are asked at every moment of a machine's end.
TEST(HandlesOfAMachineThatGoes, end_in_success_or_machine_gone) {
    for (int round = 0; round < scaled(300, 100); ++round) {
        auto machine = std::make_unique<Machine>(with_targets(1));
        int x = 0;
        const auto handle = machine->call<add_one>(inout(x));
        const auto after = machine->after(handle).call<add_one>(inout(x));
        std::atomic<bool> waits{false}, gone{false};
        std::thread asker([&] {
            waits = true;
            while (!gone.load()) {
                try {
                    handle.wait();
                    after.wait();
                    EXPECT_TRUE(handle.ready() && after.ready());
                } catch (const MachineGone&) {
                }
            }
            EXPECT_THROW(handle.wait(), MachineGone);
        });
        EXPECT_TRUE(eventually([&] { return waits.load(); }));
        machine.reset();
        gone = true;
        asker.join();
        EXPECT_EQ(x, 2);
    }
}

}  // namespace
