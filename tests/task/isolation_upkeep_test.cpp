// Targets in worker processes: that nobody starves, that a limit hits its own task only, and that workers are made
// again when they can be.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include "penstock/error.hpp"
#include "tests/task/isolation_support.hpp"

namespace {

using namespace task_tests;
using penstock::Machine;

void nothing() {}
void count_one(std::span<int> values) { ++values[0]; }
void spin_for(std::chrono::microseconds time) {
    for (const auto until = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < until;) {
    }
}
void spin_20() { spin_for(std::chrono::microseconds(20)); }
void spin_20_and_count(std::span<int> values) {
    spin_20();
    ++values[0];
}

/// A thread that goes on calling `body` until it is stopped.
class Pump {
  public:
    template <class Body>
    explicit Pump(Body body)
        : thread_([this, body]() mutable {
              while (!stopped_.load()) body();
          }) {}
    void stop() {
        stopped_.store(true);
        if (thread_.joinable()) thread_.join();
    }
    ~Pump() { stop(); }

  private:
    std::atomic<bool> stopped_{false};
    std::thread thread_;
};

// ---- fairness ----

TEST(IsolationFairness, a_lane_that_never_runs_dry_leaves_room_for_the_deques) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    std::atomic<int> issued{0};
    Pump pump([&machine, &issued, under_way = std::deque<penstock::Handle>()]() mutable {
        under_way.push_back(machine.on(0).call<spin_20>());
        ++issued;
        if (under_way.size() < 2000) return;
        under_way.front().wait();  // never dry, and not without end either
        under_way.pop_front();
    });
    ASSERT_TRUE(eventually([&] { return issued.load() > 2000; }));
    std::vector<int> outside(1);  // what is copied goes to a deque
    const auto waits = machine.call<count_one>(penstock::inout(outside));
    EXPECT_TRUE(eventually([&] { return waits.ready(); }));
    pump.stop();
    waits.wait();
    EXPECT_EQ(outside[0], 1);
    machine.finish();
}

TEST(IsolationFairness, a_deque_that_never_runs_dry_leaves_room_for_another) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    std::vector<int> theirs(1);
    std::atomic<int> issued{0};
    Pump pump([&machine, &issued, &theirs, under_way = std::deque<penstock::Handle>()]() mutable {
        under_way.push_back(machine.call<spin_20_and_count>(penstock::inout(theirs)));
        ++issued;
        if (under_way.size() < 2000) return;
        while (under_way.size() > 1500) {
            under_way.front().wait();
            under_way.pop_front();
        }
    });
    ASSERT_TRUE(eventually([&] { return issued.load() > 2000; }));
    std::vector<int> outside(1);
    const auto waits = machine.call<count_one>(penstock::inout(outside));
    EXPECT_TRUE(eventually([&] { return waits.ready(); }));
    pump.stop();
    waits.wait();
    EXPECT_EQ(outside[0], 1);
    machine.finish();
}

// ---- what is waited for, and what is told ----

TEST(IsolationUpkeep, finish_returns_when_another_thread_has_brought_everything_back) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    constexpr std::size_t many = std::size_t{16} << 20;
    for (int round = 0; round < 4; ++round) {
        std::vector<char> values(many);
        std::atomic<bool> issued{false};
        std::thread other([&] {
            const auto done =
                machine.call([](std::span<char> all) { all[all.size() - 1] = 1; }, penstock::inout(values));
            issued.store(true);
            while (!done.ready()) {
            }
        });
        ASSERT_TRUE(eventually([&] { return issued.load(); }));
        machine.finish();
        const char last = values[many - 1];
        other.join();
        ASSERT_EQ(last, 1);
    }
}

TEST(IsolationUpkeep, what_has_been_claimed_is_not_pending_any_more) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    std::vector<int> outside(1);
    for (int i = 0; i < 100; ++i) machine.call<count_one>(penstock::inout(outside));
    machine.barrier();
    EXPECT_EQ(machine.pending().tasks, 0U);
}

TEST(IsolationUpkeep, workers_are_outside_the_process_group_that_an_interrupt_reaches) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    auto groups = machine.array<pid_t>(2);
    machine.call([](pid_t* at) { at[0] = getpgrp(), at[1] = getpgid(getppid()); }, groups.data()).wait();
    EXPECT_NE(groups[0], getpgrp());
    EXPECT_NE(groups[1], getpgrp());
}

// ---- limits and deaths ----

TEST(IsolationUpkeep, a_time_limit_never_ends_the_task_behind_the_one_that_had_it) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(1));
    penstock::CallOptions limited;
    limited.time_limit = std::chrono::milliseconds(2);
    std::mt19937 random(5);
    int late = 0;
    const int rounds = scaled(150, 40);
    for (int round = 0; round < rounds; ++round) {
        const auto time = std::chrono::microseconds(2000 + random() % 1500);
        const auto timed = machine.with(limited).call(spin_for, time);
        std::vector<penstock::Handle> behind;
        for (int i = 0; i < 20; ++i) behind.push_back(machine.call<spin_20>());
        try {
            timed.wait();
        } catch (const penstock::TaskFailed&) {
            ++late;
        }
        for (const auto& one : behind) ASSERT_NO_THROW(one.wait()) << "round " << round;
    }
    EXPECT_GT(late, 0);
}

TEST(IsolationUpkeep, a_worker_that_cannot_be_replaced_for_lack_of_descriptors_is_replaced_later) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(isolated(2));
    machine.call<nothing>().wait();
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    std::vector<int> fill;
    const rlimit few{400, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    for (int one; (one = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) fill.push_back(one);
    const auto let_go = [&] {
        for (const int one : fill) close(one);
        fill.clear();
        setrlimit(RLIMIT_NOFILE, &before);
    };
    // The first takes the spare, the second leaves one target without a worker.
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(death_of([&] { machine.on(0).call([] { std::abort(); }).wait(); }).signal(), SIGABRT);
    EXPECT_NO_THROW(machine.on(1).call<nothing>().wait());
    const auto waits = machine.on(0).call<nothing>();
    let_go();
    EXPECT_NO_THROW(waits.wait());
    machine.finish();
}

}  // namespace
