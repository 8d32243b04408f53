// What a ring keeps of its tasks' failures: all that is needed to answer, in bounded memory.
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "penstock/detail/task/failures.hpp"
#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

Failure failure(std::uint64_t number, bool cancelled = false) {
    return {number, "task " + std::to_string(number), 0, std::make_exception_ptr(std::runtime_error("why")), cancelled};
}

void keep(Failures& failures, Failure failure, std::size_t most) { (void)failures.keep(std::move(failure), most); }
std::optional<Failure> tell(Failures& failures, std::uint64_t number, std::size_t most) {
    Failures::Dropped dropped;
    return failures.tell(number, most, dropped);
}
std::string text_of(const std::optional<Failure>& failure) {
    return message_of<Error>([&] { std::rethrow_exception(failure.value().cause); });
}

TEST(KeptFailures, are_told_once_to_barriers_and_each_time_to_handles) {
    Failures failures;
    for (std::uint64_t number = 1; number <= 3; ++number) keep(failures, failure(number), 8);
    EXPECT_EQ(failures.untold(), 3u);
    EXPECT_EQ(tell(failures, 2, 8)->task, "task 2");
    EXPECT_EQ(tell(failures, 2, 8)->task, "task 2");
    EXPECT_EQ(failures.untold(), 2u);
    const auto taken = failures.take(0, no_limit);
    ASSERT_EQ(taken.size(), 2u);
    EXPECT_EQ(taken[0].number, 1u);
    EXPECT_EQ(taken[1].number, 3u);
    EXPECT_EQ(failures.untold(), 0u);
    EXPECT_EQ(failures.look(2)->task, "task 2");
    EXPECT_FALSE(failures.look(3));
}

TEST(KeptFailures, of_cancelled_tasks_are_told_to_handles_alone) {
    Failures failures;
    keep(failures, failure(1, true), 8);
    EXPECT_EQ(failures.untold(), 0u);
    EXPECT_TRUE(failures.take(0, no_limit).empty());
    EXPECT_TRUE(failures.look(1)->cancelled);
    EXPECT_EQ(failures.newest(), 1u);
}

/// Only the numbers of the even tasks: what lies between them has not failed.
TEST(KeptFailures, that_do_not_fit_are_counted_and_told_from_successes) {
    constexpr std::size_t most = 8;
    Failures failures;
    for (std::uint64_t number = 10; number < 210; number += 2) keep(failures, failure(number), most);
    EXPECT_EQ(failures.untold(), 100u);
    EXPECT_EQ(failures.look(10)->task, "task 10");
    EXPECT_EQ(failures.look(208)->task, "task 208");
    EXPECT_NE(text_of(failures.look(50)).find("more tasks failed than are kept"), std::string::npos);
    EXPECT_EQ(failures.look(50)->target, TaskFailed::unknown_target);
    EXPECT_EQ(
        std::string(TaskFailed("one", TaskFailed::unknown_target, failures.look(50)->cause).what()).find("initiator"),
        std::string::npos);
    for (std::uint64_t number = 0; number < 220; ++number) {
        EXPECT_EQ(failures.look(number).has_value(), number >= 10 && number < 210 && number % 2 == 0) << number;
    }

    // An inner scope's barrier takes what is its own, and leaves the rest for the outer one.
    EXPECT_EQ(failures.take(200, no_limit).size(), 4u);
    EXPECT_TRUE(tell(failures, 50, most));
    EXPECT_TRUE(tell(failures, 50, most));
    const auto inner = failures.take(179, 189);
    ASSERT_EQ(inner.size(), 1u);
    EXPECT_EQ(inner[0].others, 4u);
    const auto taken = failures.take(0, no_limit);
    std::size_t count = taken.size();
    for (const auto& one : taken) count += one.others;
    EXPECT_EQ(count, 100u - 4 - 1 - 5);
    EXPECT_EQ(taken.front().number, 10u);
    EXPECT_FALSE(failures.look(52));
    EXPECT_TRUE(failures.look(50)) << "that was told, and goes on being told";
    EXPECT_EQ(failures.newest(), 50u);
    EXPECT_EQ(failures.untold(), 0u);
}

TEST(KeptFailures, that_were_told_go_on_being_failures_when_their_exceptions_are_gone) {
    Failures failures;
    for (std::uint64_t number = 1; number <= 1000; ++number) {
        keep(failures, failure(number), 8);
        EXPECT_TRUE(tell(failures, number, 8));
    }
    EXPECT_EQ(failures.look(993)->task, "task 993");
    EXPECT_NE(text_of(failures.look(992)).find("no longer kept"), std::string::npos);
    EXPECT_EQ(failures.untold(), 0u);
    EXPECT_TRUE(failures.take(0, no_limit).empty());
    EXPECT_TRUE(failures.look(1));
}

TEST(KeptFailures, of_cancelled_tasks_go_on_being_cancellations) {
    Failures failures;
    for (std::uint64_t number = 1; number <= 1000; ++number) keep(failures, {number, "a task", 0, nullptr, true}, 8);
    for (std::uint64_t number = 1; number <= 1000; ++number) {
        const auto found = failures.look(number);
        ASSERT_TRUE(found && found->cancelled) << number;
        EXPECT_THROW(std::rethrow_exception(found->cause), TaskCancelled);
    }
    EXPECT_FALSE(failures.look(1001));
    EXPECT_EQ(failures.untold(), 0u);
}

void fail_always() { throw std::runtime_error("why"); }
void nothing() {}

/// Handles that nobody asks pin no more than a bounded number of exceptions.
class Counted : public std::exception {
  public:
    Counted() { ++alive; }
    Counted(const Counted&) { ++alive; }
    ~Counted() override { --alive; }
    static inline std::atomic<int> alive{0};
};
void throw_counted() { throw Counted{}; }

TEST(KeptFailures, pin_a_bounded_number_of_exceptions) {
    {
        Machine machine{with_targets(1)};
        for (int i = 0; i < 20000; ++i) machine.on(0).call<throw_counted>();
        machine.on(0).call<nothing>().wait();  // a lane is served in order
        // 1,024 for the lane and for each ring that takes what does not fit there
        EXPECT_LE(Counted::alive.load(), 8000);
        std::size_t others = 0;
        try {
            machine.barrier();
            ADD_FAILURE() << "nothing was thrown";
        } catch (const TaskFailed& failed) {
            others = failed.others();
        }
        EXPECT_EQ(others, 19999u);
    }
    EXPECT_EQ(Counted::alive.load(), 0);
}

TEST(KeptFailures, that_were_told_leave_waits_and_barriers_their_short_way) {
    Machine machine{with_targets(1)};
    std::vector<Handle> failed;
    for (int i = 0; i < 200; ++i) failed.push_back(machine.call<fail_always>());
    for (const auto& handle : failed) EXPECT_THROW(handle.wait(), TaskFailed);
    machine.barrier();
    for (const auto& handle : failed) EXPECT_THROW(handle.wait(), TaskFailed);
    machine.call<nothing>().wait();
    machine.finish();
    EXPECT_THROW(failed.back().wait(), TaskFailed);
}

}  // namespace
