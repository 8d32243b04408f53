// Tasks that throw: contract 15, "none is lost".
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

struct Odd {
    int value;
};
void throw_number(int n) { throw Odd{n}; }
void throw_text() { throw std::logic_error("the cause"); }
void fine(int& x) { ++x; }

class Failures : public testing::TestWithParam<std::tuple<int, Distribution>> {
  protected:
    static MachineOptions options() {
        auto chosen = with_targets(std::get<0>(GetParam()));
        chosen.distribution = std::get<1>(GetParam());
        return chosen;
    }
    Machine machine{options()};
};
INSTANTIATE_TEST_SUITE_P(OnTargets, Failures,
                         testing::Combine(testing::Values(0, 1, 2),
                                          testing::Values(Distribution::balanced, Distribution::round_robin)));

TEST_P(Failures, carry_the_exception_itself_the_task_and_the_target) {
    try {
        machine.call<throw_number>(42).wait();
        FAIL() << "nothing was thrown";
    } catch (const TaskFailed& failed) {
        EXPECT_NE(failed.task().find("throw_number"), std::string::npos);
        EXPECT_GE(failed.target(), -1);
        EXPECT_LT(failed.target(), machine.targets());
        try {
            std::rethrow_exception(failed.cause());
        } catch (const Odd& cause) {
            EXPECT_EQ(cause.value, 42);
        }
    }
    const auto message = message_of<TaskFailed>([&] { machine.call<throw_text>().wait(); });
    EXPECT_NE(message.find("throw_text"), std::string::npos) << message;
    EXPECT_NE(message.find("the cause"), std::string::npos) << message;
}

TEST_P(Failures, of_one_in_many_leave_the_others_alone) {
    int x = 0;
    std::vector<int> y(500);
    for (std::size_t i = 0; i < y.size(); ++i) {
        if (i == 250) machine.call<throw_text>();
        machine.call<fine>(inout(y[i]));
    }
    EXPECT_THROW(machine.barrier(), TaskFailed);
    for (int v : y) ASSERT_EQ(v, 1);
    EXPECT_NO_THROW(machine.barrier());
    EXPECT_NO_THROW(machine.finish());
    machine.call<fine>(inout(x)).wait();
    EXPECT_EQ(x, 1);
}

TEST_P(Failures, of_all_are_counted_by_the_barrier) {
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 300; ++i) machine.call<throw_number>(i);
        try {
            machine.barrier();
            FAIL() << "nothing was thrown";
        } catch (const TaskFailed& failed) {
            EXPECT_EQ(failed.others(), 299u);
        }
    }
    machine.finish();
}

TEST_P(Failures, of_dropped_handles_surface_at_finish) {
    machine.call<throw_text>();
    EXPECT_THROW(machine.finish(), TaskFailed);
    EXPECT_NO_THROW(machine.finish());
}

TEST_P(Failures, of_a_nested_task_reach_whoever_waits_at_each_level) {
    std::atomic<int> inner{0};
    auto* const count = &inner;
    const auto handle = machine.call([this, count] {
        try {
            machine.call<throw_number>(1).wait();
        } catch (const TaskFailed&) {
            count->fetch_add(1);
            throw;
        }
    });
    try {
        handle.wait();
        FAIL() << "nothing was thrown";
    } catch (const TaskFailed& failed) {
        EXPECT_EQ(inner.load(), 1);
        try {
            std::rethrow_exception(failed.cause());
        } catch (const TaskFailed& cause) {
            EXPECT_NE(cause.task().find("throw_number"), std::string::npos);
        }
    }
    EXPECT_NO_THROW(machine.finish()) << "the inner failure was delivered inside, the outer one here";
}

TEST_P(Failures, of_another_thread_are_not_thrown_at_this_one) {
    std::thread other([&] {
        machine.call<throw_text>();
        EXPECT_THROW(machine.barrier(), TaskFailed);
    });
    int x = 0;
    machine.call<fine>(inout(x));
    EXPECT_NO_THROW(machine.barrier());
    other.join();
    EXPECT_NO_THROW(machine.finish());
}

TEST_P(Failures, of_a_thread_that_has_ended_surface_at_finish_and_not_in_the_next_thread) {
    std::thread([&] { machine.call<throw_text>(); }).join();
    // The next thread may take over what the ended one left, but not its failures.
    ASSERT_TRUE(eventually([&] {
        std::uint64_t calls = 0, done = 0;
        const auto snapshot = machine.snapshot();
        for (const auto& [key, entry] : snapshot.tracks()) {
            if (const auto* i = std::get_if<trace::InitiatorTotals>(&entry.totals))
                calls += i->calls, done += i->helped + i->inlined;
            else done += std::get<trace::TargetTotals>(entry.totals).tasks;
        }
        return calls == done;
    }));
    std::thread([&] {
        int x = 0;
        machine.call<fine>(inout(x));
        EXPECT_NO_THROW(machine.barrier());
    }).join();
    EXPECT_THROW(machine.finish(), TaskFailed);
}

TEST_P(Failures, that_nobody_asked_for_are_named_when_the_machine_goes) {
    testing::internal::CaptureStderr();
    {
        Machine shorter(with_targets(std::get<0>(GetParam())));
        shorter.call<throw_text>();
    }
    const auto said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("throw_text"), std::string::npos) << said;
}

TEST_P(Failures, of_ten_thousand_waits_in_a_row_do_not_pile_up) {
    for (int i = 0; i < scaled(10'000, 1000); ++i) EXPECT_THROW(machine.call<throw_number>(i).wait(), TaskFailed);
    EXPECT_NO_THROW(machine.finish());
}

// A lane holds the tasks of every scope that issued into it, so what one scope collects must end where that scope
// ended.
TEST(FailuresOfATaskThatDidNotWait, are_not_mixed_with_those_of_the_next_task_on_its_target) {
    Machine machine(with_targets(2));
    Gate gate;
    machine.on(0).call(boxed([&] {
        machine.on(1).call(boxed([&] {
            gate.wait();
            throw std::logic_error("of the one that did not wait");
        }));
    }));
    std::string next;
    machine.on(0).call(boxed([&] {
        const auto failing = machine.on(1).call(boxed([] { throw std::logic_error("of the next"); }));
        gate.open();
        ASSERT_TRUE(eventually([&] { return failing.ready(); })) << "both have failed by now";
        // Runs inside the barrier; its own child makes the target look through what earlier tasks left.
        machine.on(0).call(boxed([&] { machine.call([] {}).wait(); }));
        next = message_of<TaskFailed>([&] { machine.barrier(); });
    }));
    const auto first = message_of<TaskFailed>([&] { machine.finish(); });
    EXPECT_NE(next.find("of the next"), std::string::npos) << next;
    EXPECT_NE(first.find("of the one that did not wait"), std::string::npos) << first;
}

}  // namespace
