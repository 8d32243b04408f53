// Filters that say whether they live in the program or in a worker process.
#include <chrono>
#include <string>

#include "penstock/spread.hpp"
#include "tests/stream/processes_support.hpp"

using namespace penstock;
using namespace processes;

namespace {

/// Each buffer, after as many tasks as it says have added one to it.
struct Count {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Spread tasks;
    void operator()() {
        const auto& from = tasks.keep(in.read());
        auto sum = out.make(1);
        sum.edit()[0] = 0;
        tasks.for_each(from[0], [&from, to = sum.edit()](std::size_t i) { to[0] += i < from[0] ? 1 : 0; }, 1);
        out.write(std::move(sum));
    }
};

}  // namespace

TEST(FiltersInProcesses, a_filter_may_stay_in_the_program_or_insist_on_a_worker) {
    const auto problem_of = [](const MachineOptions& options, FilterOptions of_sum) {
        Machine machine(options);
        Graph graph;
        auto& numbers = graph.add<Numbers>("numbers", {}, Value{10});
        auto& sum = graph.add<Sum>("sum", std::move(of_sum));
        graph.connect(numbers.out, sum.in);
        try {
            graph.start(machine).finish();
        } catch (const GraphError& error) {
            return std::string(error.what());
        }
        EXPECT_EQ(sum.sum, 45u);
        return std::string(sum.process == static_cast<Value>(getpid()) ? "in the program" : "in a worker");
    };
    SKIP_WITHOUT_PROCESSES();
    EXPECT_EQ(problem_of(workers(2), {.isolation = Isolation::none}), "in the program");
    EXPECT_EQ(problem_of(workers(2), {.isolation = Isolation::process}), "in a worker");
    EXPECT_EQ(problem_of(workers(2), {}), "in a worker");
    EXPECT_EQ(problem_of({.targets = 1}, {.isolation = Isolation::none}), "in the program");
    EXPECT_NE(problem_of({.targets = 1}, {.isolation = Isolation::process})
                  .find("'sum' is to live in a worker process, and the machine has none"),
              std::string::npos);
    EXPECT_NE(problem_of(workers(1), {.targets = {0}, .isolation = Isolation::none})
                  .find("cannot have a place among targets"),
              std::string::npos);
    EXPECT_NE(problem_of(workers(1), {.time_limit = std::chrono::seconds(1), .isolation = Isolation::none})
                  .find("time limit, which only worker processes keep"),
              std::string::npos);
}

TEST(FiltersInProcesses, what_stays_in_the_program_works_among_workers) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, Value{500});
    auto& twice = graph.add<Times>("twice", {.copies = 3, .isolation = Isolation::none}, Value{2});
    auto& thrice = graph.add<Times>("thrice", {}, Value{3});
    auto& sum = graph.add<Sum>("sum", {.isolation = Isolation::none});
    graph.connect(numbers.out, twice.in);
    graph.connect(twice.out, thrice.in);
    graph.connect(thrice.out, sum.in, {.ordered = true});
    auto run = graph.start(machine);
    run.edit([](Edit& edit) { edit.copies("twice", 2); });
    run.finish();
    EXPECT_EQ(sum.sum, Value{6} * 499 * 500 / 2);
    EXPECT_EQ(sum.count, 500u);
}

TEST(FiltersInProcesses, a_filter_that_stays_in_the_program_runs_the_tasks_of_a_firing_itself) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(1));
    Graph graph;
    auto& numbers = graph.add<Numbers>("numbers", {}, Value{20});
    auto& count = graph.add<Count>("count", {.isolation = Isolation::none});
    auto& sum = graph.add<Sum>("sum");
    graph.connect(numbers.out, count.in);
    graph.connect(count.out, sum.in);
    graph.start(machine).finish();
    EXPECT_EQ(sum.sum, 190u);
}
