// A machine as a scheduler of senders and receivers (execution.hpp).
#include "penstock/execution.hpp"

#include <atomic>
#include <semaphore>
#include <string>

#include "task/support.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

struct Outcome {
    std::atomic<int> values{0}, errors{0}, stops{0};
    std::atomic<bool> in_task{false};
    std::binary_semaphore told{0};
    Machine* machine = nullptr;
    bool stop = false;
};

struct Receiver {
#if defined(PENSTOCK_HAVE_STDEXEC)
    using receiver_concept = stdexec::receiver_t;
#endif
    Outcome* outcome;
    void set_value() && noexcept {
        outcome->in_task = outcome->machine->in_task();
        ++outcome->values;
        outcome->told.release();
    }
    void set_error(const std::exception_ptr&) && noexcept {
        ++outcome->errors;
        outcome->told.release();
    }
    void set_stopped() && noexcept {
        ++outcome->stops;
        outcome->told.release();
    }
    bool stop_requested() const noexcept { return outcome->stop; }
};

class execution : public testing::TestWithParam<int> {
  protected:
    Machine machine{with_targets(GetParam())};
    Outcome outcome;
    void SetUp() override { outcome.machine = &machine; }
};
INSTANTIATE_TEST_SUITE_P(OnTargets, execution, testing::Values(0, 1, 2));

TEST_P(execution, a_scheduled_operation_completes_once_inside_a_task) {
    auto operation = scheduler(machine).schedule().connect(Receiver{&outcome});
    EXPECT_EQ(outcome.values, 0) << "nothing happens before start()";
    operation.start();
    machine.finish();
    EXPECT_EQ(outcome.values, 1);
    EXPECT_TRUE(outcome.in_task);
    EXPECT_EQ(outcome.errors + outcome.stops, 0);
}

TEST_P(execution, a_stop_that_was_asked_for_ends_it_without_a_task) {
    outcome.stop = true;
    auto operation = scheduler(machine).schedule().connect(Receiver{&outcome});
    operation.start();
    EXPECT_EQ(outcome.stops, 1);
    machine.finish();
    EXPECT_EQ(outcome.values, 0);
}

TEST(execution_refusals, a_call_that_is_refused_is_an_error_of_the_receiver) {
    Machine machine{
        {.targets = 1, .depth = 1, .distribution = Distribution::round_robin, .when_full = WhenFull::refuse}};
    std::binary_semaphore go{0};
    Outcome outcome;
    outcome.machine = &machine;
    auto* const gate = &go;
    machine.call([gate] { gate->acquire(); });
    int refused = 0;
    for (int i = 0; i < 4; ++i) {
        auto operation = std::make_unique<decltype(scheduler(machine).schedule().connect(Receiver{&outcome}))>(
            machine, Receiver{&outcome});
        const int before = outcome.errors;
        operation->start();
        if (outcome.errors > before) ++refused;
        else (void)operation.release();  // it runs later
    }
    go.release();
    machine.finish();
    EXPECT_GT(refused, 0);
    EXPECT_EQ(refused + outcome.values, 4);
}

TEST(execution_schedulers, are_equal_when_their_machine_is_the_same) {
    Machine one{with_targets(0)}, two{with_targets(0)};
    EXPECT_EQ(scheduler(one), scheduler(one));
    EXPECT_NE(scheduler(one), scheduler(two));
}

}  // namespace
