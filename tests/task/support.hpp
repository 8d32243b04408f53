// What the tests of tagged calls share: a watchdog, options in one line, and how long things may take under a
// sanitizer.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>

#include "penstock/machine.hpp"
#include "penstock/topology.hpp"
#include "tests/sanitizers.hpp"

namespace task_tests {

inline constexpr bool under_tsan = penstock_tests::thread_sanitizer;
inline constexpr bool under_asan = penstock_tests::address_sanitizer;

/// Work that shrinks under a sanitizer, which makes every hand-off many times slower.
constexpr int scaled(int plain, int sanitized) { return under_tsan || under_asan ? sanitized : plain; }

/// True when the long versions of the random tests are asked for.
inline bool long_run() {
    const char* asked = std::getenv("PENSTOCK_LONG");
    return asked != nullptr && asked[0] == '1';
}

/// A test that hangs must fail: the program ends when one test takes longer than this.
class Watchdog : public testing::EmptyTestEventListener {
  public:
    static constexpr unsigned seconds = under_tsan || under_asan ? 240 : 90;

    void OnTestStart(const testing::TestInfo&) override {
        signal(SIGALRM, [](int) {
            constexpr char message[] = "\nthe watchdog ended a test that hangs\n";
            static_cast<void>(!write(2, message, sizeof message - 1));
            signal(SIGABRT, SIG_DFL);
            std::abort();
        });
        const char* const soak = std::getenv("PENSTOCK_SOAK_SECONDS");
        alarm((long_run() ? 40 * seconds : seconds) + (soak != nullptr ? static_cast<unsigned>(std::atoi(soak)) : 0));
    }
    void OnTestEnd(const testing::TestInfo&) override { alarm(0); }
};

inline const bool watched = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new Watchdog);
    return true;
}();

inline penstock::MachineOptions with_targets(int targets) {
    penstock::MachineOptions options;
    options.targets = targets;
    return options;
}

/// Waits until `poll()`, for tests that must know that another thread has come somewhere. False after ten seconds.
template <class Poll>
bool eventually(Poll&& poll, std::chrono::seconds limit = std::chrono::seconds(10)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!poll()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

/// A gate that tasks wait at, so that a test decides when they go on.
class Gate {
  public:
    void open() { open_.store(true, std::memory_order_release); }
    bool wait() const {
        return eventually([this] { return open_.load(std::memory_order_acquire); }, std::chrono::seconds(60));
    }

  private:
    std::atomic<bool> open_{false};
};

/// The message of the exception of type E that `body` throws; a failure of the test when it throws nothing.
template <class E, class Body>
std::string message_of(Body&& body) {
    try {
        body();
    } catch (const E& error) {
        return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

/// The calls of one thread to one named target, of which the lane holds a few and the deque the others, are run in the
/// order in which they were made.
inline void expect_order_on_named_target(penstock::Machine& machine, int target) {
    constexpr int rounds = 100, calls = 200;
    auto seen = machine.array<int>(2);  // the next number that is expected, and how often another came
    seen[0] = seen[1] = 0;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < calls; ++i)
            machine.on(target).call(
                [](std::span<int> next, int number) {
                    next[1] += next[0] != number;
                    next[0] = number + 1;
                },
                penstock::inout(seen), round * calls + i);
        machine.barrier();
    }
    EXPECT_EQ(seen[0], rounds * calls);
    EXPECT_EQ(seen[1], 0);
}

}  // namespace task_tests
