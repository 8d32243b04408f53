// Machines that end before their runs do (contract 17).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "penstock/stream_error.hpp"
#include "tests/stream/processes_support.hpp"

namespace machine_end {

using namespace penstock;

/// Never ends.
struct Endless {
    Output<std::uint64_t> out{"out"};
    std::uint64_t next = 0;
    bool operator()() {
        auto buffer = out.make(1);
        buffer.edit()[0] = next++;
        out.write(std::move(buffer));
        return true;
    }
};

struct Counter {
    Input<std::uint64_t> in{"in"};
    std::atomic<std::uint64_t>* count;
    explicit Counter(std::atomic<std::uint64_t>* to) : count(to) {}
    void operator()() {
        (void)in.read();
        count->fetch_add(1);
    }
};

struct EndlessGraph {
    std::atomic<std::uint64_t> count{0};
    Graph graph;
    explicit EndlessGraph(const Machine& machine) {
        const FilterOptions here = machine.options().isolation == Isolation::process
                                       ? FilterOptions{.isolation = Isolation::none}
                                       : FilterOptions{};
        auto& endless = graph.add<Endless>("endless");
        auto& counter = graph.add<Counter>("counter", here, &count);
        graph.connect(endless.out, counter.in);
    }
    void wait_for_some() const {
        ASSERT_TRUE(task_tests::eventually([this] { return count.load() > 20; }));
    }
};

void end_before_the_run(const MachineOptions& options) {
    std::optional<EndlessGraph> endless;
    std::optional<penstock::Run> run;
    {
        Machine machine(options);
        endless.emplace(machine);
        run.emplace(endless->graph.start(machine));
        endless->wait_for_some();
    }
    EXPECT_TRUE(run->ended());
    const auto figures = run->statistics();
    EXPECT_EQ(figures.filters.at(0).firings,
              endless->count + figures.filters.at(0).dropped + figures.filters.at(1).dropped);
    EXPECT_THROW(run->edit([](Edit& edit) { edit.remove("counter"); }), RunEnded);
    EXPECT_THROW(run->send({"event", true}), RunEnded);
    run->stop();
    run->close();
    run->finish();
}

TEST(MachineEnd, stops_a_run_that_goes_on_for_ever) {
    for (const int targets : {1, 2}) end_before_the_run(task_tests::with_targets(targets));
}
TEST(MachineEnd, stops_a_run_on_worker_processes) {
    SKIP_WITHOUT_PROCESSES();
    for (const int targets : {1, 2}) end_before_the_run(processes::workers(targets));
}

TEST(MachineEnd, stops_several_runs_and_one_that_another_thread_waits_for) {
    for (const int targets : {1, 2}) {
        std::optional<EndlessGraph> first, second;
        std::optional<penstock::Run> other;
        std::thread waits;
        {
            Machine machine(task_tests::with_targets(targets));
            first.emplace(machine);
            second.emplace(machine);
            other.emplace(first->graph.start(machine));
            waits = std::thread([run = second->graph.start(machine)]() mutable { run.finish(); });
            first->wait_for_some();
            second->wait_for_some();
        }
        waits.join();
        EXPECT_TRUE(other->ended());
    }
}

TEST(MachineEnd, comes_behind_a_run_that_was_begun_and_dropped) {
    for (const int targets : {1, 2}) {
        Machine machine(task_tests::with_targets(targets));
        for (int i = 0; i < 20; ++i) {
            EndlessGraph endless(machine);
            (void)endless.graph.start(machine);
        }
    }
}

/// A reader of the program's that does not read: nothing moves, and nothing has ended.
TEST(MachineEnd, stops_a_run_that_waits_for_the_program) {
    Graph graph;
    auto& endless = graph.add<Endless>("endless");
    auto& reader = graph.add_reader<std::uint64_t>("reader");
    graph.connect(endless.out, reader.input, {.capacity = 4});
    std::optional<penstock::Run> run;
    {
        Machine machine(task_tests::with_targets(1));
        run.emplace(graph.start(machine));
        EXPECT_EQ((*reader.read())[0], 0u);
    }
    EXPECT_TRUE(run->ended());
    while (reader.read()) {
    }
}

}  // namespace machine_end
