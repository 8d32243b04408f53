// Targets in worker processes: the same calls, and what becomes of a task that ends its process.
#include "penstock/isolation.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "penstock/error.hpp"
#include "tests/task/isolation_support.hpp"

namespace {

using namespace task_tests;
using penstock::Machine;
using penstock::WorkerDied;

void tell_process(std::span<int> process) { process[0] = getpid(); }

void add(std::span<const int> from, std::span<int> to, int more) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] + more;
}

void nothing() {}

TEST(Isolation, a_task_runs_in_another_process_on_the_same_array) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    auto process = machine.array<int>(1);
    machine.call<tell_process>(penstock::out(process)).wait();
    EXPECT_NE(process[0], 0);
    EXPECT_NE(process[0], getpid());
}

TEST(Isolation, many_tasks_are_shared_by_the_workers_and_each_is_run_once) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(2));
    constexpr int tasks = 5000;
    auto count = machine.array<int>(tasks);
    for (int i = 0; i < tasks; ++i)
        machine.call([](std::span<int> one, int value) { one[0] += value; },
                     penstock::inout(std::span(count).subspan(static_cast<std::size_t>(i), 1)), i + 1);
    machine.barrier();
    for (int i = 0; i < tasks; ++i) ASSERT_EQ(count[static_cast<std::size_t>(i)], i + 1);
}

TEST(Isolation, memory_outside_the_heap_is_copied_in_and_out) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    std::vector<int> from(1000);
    std::iota(from.begin(), from.end(), 0);
    std::vector<int> to(1000);
    machine.call<add>(penstock::in(from), penstock::out(to), 7).wait();
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(to[static_cast<std::size_t>(i)], i + 7);
}

TEST(Isolation, a_named_target_gets_its_tasks_in_order_also_those_that_its_lane_does_not_hold) {
    SKIP_WITHOUT_PROCESSES();
    auto options = isolated(2);
    options.depth = 4;
    Machine machine(options);
    expect_order_on_named_target(machine, 1);
}

TEST(Isolation, an_exception_arrives_as_its_type_and_text) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    const auto done = machine.call([] { throw std::out_of_range("row 17"); });
    try {
        done.wait();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const penstock::TaskFailed& failed) {
        EXPECT_EQ(failed.target(), 0);
        try {
            std::rethrow_exception(failed.cause());
        } catch (const penstock::RemoteException& remote) {
            EXPECT_EQ(remote.type(), "std::out_of_range");
            EXPECT_STREQ(remote.what(), "std::out_of_range: row 17");
        }
    }
    machine.call<nothing>().wait();
}

// ---- deaths ----

/// Of the signal itself: a sanitizer has a handler of its own for it.
void die_of(int number) {
    signal(number, SIG_DFL);
    raise(number);
}

void write_nowhere() {
    static volatile std::uintptr_t nowhere = 16;
    signal(SIGSEGV, SIG_DFL);
    *reinterpret_cast<volatile int*>(nowhere) = 1;
}

TEST(Isolation, a_crash_fails_its_own_task_with_all_that_is_known_and_every_other_completes) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(2));
    auto numbers = machine.array<int>(100);
    auto count = machine.array<int>(400);
    std::vector<penstock::Handle> rest;
    penstock::Handle crash;
    for (int i = 0; i < 400; ++i) {
        if (i == 150)
            crash = machine.call(
                [](std::span<const int>) {
                    std::fprintf(stderr, "about to fall\n");
                    die_of(SIGSEGV);
                },
                penstock::in(numbers));
        rest.push_back(machine.call([](std::span<int> one) { ++one[0]; },
                                    penstock::inout(std::span(count).subspan(static_cast<std::size_t>(i), 1))));
    }
    const auto died = death_of([&] { crash.wait(); });
    EXPECT_EQ(died.signal(), SIGSEGV);
    EXPECT_FALSE(died.exit_code().has_value());
    EXPECT_NE(died.task().find("lambda"), std::string::npos) << died.task();
    EXPECT_EQ(died.argument_bytes(), (std::vector<std::size_t>{400}));
    EXPECT_EQ(died.output(), "about to fall\n");
    EXPECT_NE(std::string(died.what()).find("SIGSEGV"), std::string::npos) << died.what();
    for (const auto& handle : rest) handle.wait();
    machine.barrier();
    for (const int one : count) ASSERT_EQ(one, 1);
}

TEST(Isolation, whatever_ends_a_worker_is_reported_by_name_and_the_machine_goes_on) {
    SKIP_WITHOUT_PROCESSES();
    auto options = isolated(1);
    options.time_limit = std::chrono::milliseconds(200);
    Machine machine(options);
    const auto after = [&] {
        auto process = machine.array<int>(1);
        machine.call<tell_process>(penstock::out(process)).wait();
        EXPECT_NE(process[0], 0);
    };
    EXPECT_EQ(death_of([&] { machine.call([] { write_nowhere(); }).wait(); }).signal(), SIGSEGV);
    after();
    EXPECT_EQ(death_of([&] { machine.call([] { die_of(SIGFPE); }).wait(); }).signal(), SIGFPE);
    after();
    EXPECT_EQ(death_of([&] { machine.call([] { std::abort(); }).wait(); }).signal(), SIGABRT);
    after();
    EXPECT_EQ(death_of([&] { machine.call([] { std::exit(0); }).wait(); }).exit_code(), 0);
    after();
    EXPECT_EQ(death_of([&] { machine.call([] { _exit(33); }).wait(); }).exit_code(), 33);
    after();
    const auto late = death_of([&] {
        machine
            .call([] {
                for (std::atomic<int> turns{0};;) turns.fetch_add(1, std::memory_order_relaxed);
            })
            .wait();
    });
    EXPECT_EQ(late.time_limit(), std::chrono::milliseconds(200));
    EXPECT_NE(std::string(late.what()).find("200 ms"), std::string::npos) << late.what();
    after();
}

}  // namespace
