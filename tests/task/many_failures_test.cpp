// Thousands of tasks that fail or are cancelled: each goes on being what it was, and so do those that succeeded between
// them.
#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "penstock/penstock.hpp"
#include "task/support.hpp"
#include "tests/bounded_child.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

constexpr int many = 3000;  // of which the exceptions of 1,024 are kept

std::atomic<int> ran{0};
void count() { ran.fetch_add(1); }
void fail(int) { throw std::runtime_error("why"); }
void fail_if_odd(int i) {
    if (i % 2 != 0) throw std::runtime_error("odd");
}
void wait_at(const Gate* gate) { gate->wait(); }

TEST(ManyFailures, of_cancelled_tasks_are_thrown_by_each_wait) {
    ran = 0;
    Machine machine(with_targets(1));
    Gate gate;
    machine.call<wait_at>(&gate);
    std::vector<Handle> handles;
    for (int i = 0; i < many; ++i) handles.push_back(machine.call<count>());
    for (const auto& handle : handles) EXPECT_TRUE(handle.cancel());
    gate.open();
    for (int round = 0; round < 2; ++round)
        for (const auto& handle : handles) ASSERT_THROW(handle.wait(), TaskCancelled);
    const auto after = machine.after(handles.front()).call<count>();
    EXPECT_THROW(after.wait(), PredecessorFailed);
    EXPECT_EQ(ran, 0);
    EXPECT_NO_THROW(machine.finish());
}

TEST(ManyFailures, are_thrown_by_each_wait) {
    ran = 0;
    Machine machine(with_targets(1));
    std::vector<Handle> handles;
    for (int i = 0; i < many; ++i) handles.push_back(machine.call<fail>(i));
    for (int round = 0; round < 2; ++round)
        for (const auto& handle : handles) ASSERT_THROW(handle.wait(), TaskFailed);
    const auto after = machine.after(handles.front()).call<count>();
    EXPECT_THROW(after.wait(), PredecessorFailed);
    EXPECT_EQ(ran, 0);
    EXPECT_NO_THROW(machine.finish()) << "each was told";
}

TEST(ManyFailures, that_nobody_asked_for_leave_the_successes_between_them_successes) {
    ran = 0;
    Machine machine(with_targets(1));
    std::vector<Handle> handles;
    for (int i = 0; i < 2 * many; ++i) handles.push_back(machine.call<fail_if_odd>(i));
    ASSERT_TRUE(eventually(
        [&] { return std::all_of(handles.begin(), handles.end(), [](const Handle& each) { return each.ready(); }); }));
    for (int i = 0; i < 2 * many; i += 2) ASSERT_NO_THROW(handles[static_cast<std::size_t>(i)].wait()) << i;
    const auto after = machine.after(handles[2 * many / 3]).call<count>();
    EXPECT_NO_THROW(after.wait());
    EXPECT_EQ(ran, 1);
    EXPECT_THROW(handles[2 * many / 3 + 1].wait(), TaskFailed);
    try {
        machine.finish();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const TaskFailed& failed) {
        EXPECT_EQ(failed.others(), many - 2u) << "one was told";
    }
}

/// An exception whose destructor asks for another task's failure.
struct Asks {
    std::shared_ptr<std::vector<Handle>> first;
    explicit Asks(std::shared_ptr<std::vector<Handle>> of) : first(std::move(of)) {}
    Asks(const Asks&) = default;
    ~Asks() {
        try {
            if (first->size() == 1) first->front().wait();
        } catch (...) {
        }
    }
};

TEST(ManyFailures, die_where_no_lock_is_held) {
    if (under_tsan) GTEST_SKIP() << "the thread sanitizer follows no fork of a program with several threads";
    const auto ending = penstock_tests::ending_of([] {
        auto first = std::make_shared<std::vector<Handle>>();
        Machine machine(with_targets(1));
        const auto failing = [&] { return machine.on(0).call(boxed([first] { throw Asks(first); })); };
        const auto one = failing();
        try {
            one.wait();
        } catch (const TaskFailed&) {
        }
        first->push_back(one);
        std::vector<Handle> rest;
        for (int i = 0; i < 1500; ++i) {
            rest.push_back(failing());
            while (!rest.back().ready()) std::this_thread::yield();  // one at a time, so that all are in the lane
        }
        int told = 0;
        // in order: those that nobody was told are forgotten first, then those that were
        for (const auto& each : rest) {
            try {
                each.wait();
            } catch (const TaskFailed&) {
                ++told;
            }
        }
        return told == 1500 ? 0 : 1;
    });
    EXPECT_TRUE(ending.good()) << ending.text();
}

}  // namespace
