// Tasks awaited in coroutines (coroutine.hpp).
#include "penstock/coroutine.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

void twice(std::span<int> values) {
    for (int& value : values) value *= 2;
}
void fail() { throw std::runtime_error("as asked"); }

Coroutine<int> doubled(Machine& machine, std::vector<int>& values, int times) {
    for (int i = 0; i < times; ++i) co_await machine.call<twice>(inout(values));
    co_return values[0];
}

class coroutine : public testing::TestWithParam<int> {
  protected:
    Machine machine{with_targets(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(OnTargets, coroutine, testing::Values(0, 1, 2));

TEST_P(coroutine, awaits_one_task_after_the_other_and_returns_a_value) {
    std::vector<int> values{1, 2};
    EXPECT_EQ(run(doubled(machine, values, 10)), 1024);
    EXPECT_EQ(values[1], 2048);
}

TEST_P(coroutine, many_go_on_beside_one_another) {
    std::vector<std::vector<int>> values(50, std::vector<int>{1});
    const auto work = [&]() -> Coroutine<int> {
        std::vector<Coroutine<int>> started;
        for (auto& one : values) {
            started.push_back(doubled(machine, one, 5));
            started.back().start();
        }
        int sum = 0;
        for (auto& one : started) sum += co_await one;
        co_return sum;
    };
    EXPECT_EQ(run(work()), 50 * 32);
}

TEST_P(coroutine, gets_the_failure_of_its_task_where_it_awaits_it) {
    const auto work = [&]() -> Coroutine<std::string> {
        try {
            co_await machine.call<fail>();
        } catch (const TaskFailed& failure) {
            co_return failure.what();
        }
        co_return "nothing";
    };
    EXPECT_NE(run(work()).find("as asked"), std::string::npos);
}

TEST_P(coroutine, a_failure_beside_others_reaches_only_its_own_waiter) {
    std::vector<int> values{1};
    const auto failing = [&]() -> Coroutine<> { co_await machine.call<fail>(); };
    const auto work = [&]() -> Coroutine<> { co_await all(failing(), doubled(machine, values, 20)); };
    EXPECT_THROW(run(work()), TaskFailed);
    EXPECT_EQ(values[0], 1 << 20) << "all() ends when all have ended";
}

TEST_P(coroutine, throws_what_it_does_not_catch) {
    const auto work = []() -> Coroutine<int> {
        throw std::logic_error("mine");
        co_return 1;
    };
    EXPECT_THROW(run(work()), std::logic_error);
}

TEST_P(coroutine, one_that_is_destroyed_while_it_waits_is_forgotten) {
    std::vector<int> values{1}, others{1};
    const auto work = [&]() -> Coroutine<int> {
        {
            auto left = doubled(machine, others, 3);
            left.start();
        }
        co_return co_await doubled(machine, values, 3);
    };
    EXPECT_EQ(run(work()), 8);
    machine.barrier();
    EXPECT_GE(others[0], 2) << "the task that it had issued ran";
}

struct Never {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}
};

TEST_P(coroutine, one_that_was_started_may_be_moved) {
    std::vector<int> values{1}, others{1};
    int begun = 0;
    const auto counting = [&](std::vector<int>& of) -> Coroutine<int> {
        ++begun;
        co_await machine.call<twice>(inout(of));
        co_return co_await doubled(machine, of, 2);
    };
    const auto at_once = [&]() -> Coroutine<int> {
        ++begun;
        co_return 7;
    };
    const auto work = [&]() -> Coroutine<int> {
        auto first = counting(values), second = counting(others), ended = at_once();
        first.start();
        second.start();
        ended.start();
        Coroutine<int> built = std::move(first), assigned = at_once();
        assigned = std::move(second);
        const int sum = co_await built + co_await assigned;
        co_await all(std::move(ended));  // it has ended: nothing is begun again
        co_return sum;
    };
    EXPECT_EQ(run(work()), 8 + 8);
    EXPECT_EQ(begun, 3) << "each has begun once; the one that was assigned over never did";
}

TEST_P(coroutine, one_that_outlives_its_loop_is_destroyed_quietly) {
    std::vector<int> values{1};
    auto left = doubled(machine, values, 3);
    const auto starts_only = [&]() -> Coroutine<> {
        left.start();
        co_return;
    };
    run(starts_only());
    machine.barrier();
    EXPECT_GE(values[0], 2) << "the task that it had issued ran";
}

TEST_P(coroutine, one_that_waits_for_something_else_is_refused_instead_of_hanging) {
    const auto work = []() -> Coroutine<> { co_await Never{}; };
    EXPECT_THROW(run(work()), UsageError);
}

/// A coroutine of somebody else's, outside any loop.
struct Plain {
    struct promise_type {
        Plain get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { throw; }
    };
};
Plain elsewhere(Machine& machine, std::vector<int>& values, bool& done) {
    co_await machine.call<twice>(inout(values));
    done = true;
}

TEST_P(coroutine, of_another_kind_waits_without_a_loop) {
    std::vector<int> values{21};
    bool done = false;
    elsewhere(machine, values, done);
    EXPECT_TRUE(done);
    EXPECT_EQ(values[0], 42);
}

}  // namespace
