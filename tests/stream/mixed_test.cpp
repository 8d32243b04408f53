// Machines with several classes of targets: threads, threads that are slowed down, worker processes.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "stream/processes_support.hpp"

using namespace penstock;
using processes::Value;

namespace {

MachineOptions mixed() {
    return {.classes = {{.name = "fast", .targets = 1},
                        {.name = "workers", .targets = 1, .isolation = Isolation::process},
                        {.name = "slow", .targets = 1, .speed = 0.25}}};
}

/// Writes the process in which it fired, and crashes at a number if that is a worker.
struct Where {
    static constexpr bool may_be_copied = true;
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Value program, crash_at;
    Where(Value of_program, Value crash) : program(of_program), crash_at(crash) {}
    void operator()() {
        auto read = in.read();
        const auto number = read[0];
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
        while (std::chrono::steady_clock::now() < until) {
        }
        const auto here = static_cast<Value>(getpid());
        if (here != program && number >= crash_at) std::raise(SIGKILL);
        auto made = out.make(2);
        made.edit()[0] = number;
        made.edit()[1] = here;
        out.write(std::move(made));
    }
};

struct Collect {
    Input<Value> in{"in"};
    std::vector<Value> numbers, places;
    void operator()() {
        const auto read = in.read();
        numbers.push_back(read[0]);
        places.push_back(read[1]);
    }
};

}  // namespace

TEST(StreamMixed, copies_of_one_filter_run_on_threads_and_in_worker_processes) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(mixed());
    EXPECT_EQ(machine.targets(), 2);
    EXPECT_EQ(machine.all_targets(), 3);
    EXPECT_EQ(machine.targets_of("slow"), std::vector{1});
    EXPECT_EQ(machine.targets_of("workers"), std::vector{2});
    Graph graph;
    auto& numbers = graph.add<processes::Numbers>("numbers", {}, Value{400});
    auto& where =
        graph.add<Where>("where", {.copies = FilterOptions::automatic, .target_classes = {"fast", "slow", "workers"}},
                         static_cast<Value>(getpid()), Value{1} << 40);
    auto& collect = graph.add<Collect>("collect");
    graph.connect(numbers.out, where.in);
    graph.connect(where.out, collect.in, {.ordered = true});
    auto run = graph.start(machine);
    run.finish();
    ASSERT_EQ(collect.numbers.size(), 400u);
    for (Value i = 0; i < 400; ++i) EXPECT_EQ(collect.numbers[i], i);
    const auto here = std::ranges::count(collect.places, static_cast<Value>(getpid()));
    EXPECT_GT(here, 0);
    EXPECT_LT(here, 400);
}

TEST(StreamMixed, a_crash_takes_what_the_worker_has_and_nothing_else) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(mixed());
    Graph graph;
    auto& numbers = graph.add<processes::Numbers>("numbers", {}, Value{300});
    auto& where = graph.add<Where>(
        "where",
        {.copies = FilterOptions::automatic, .target_classes = {"fast", "workers"}, .on_failure = OnFailure::go_on},
        static_cast<Value>(getpid()), Value{0});
    auto& collect = graph.add<Collect>("collect");
    graph.connect(numbers.out, where.in);
    graph.connect(where.out, collect.in);
    auto run = graph.start(machine);
    EXPECT_THROW(run.finish(), FilterFailed);
    const auto lost = run.lost().size();
    EXPECT_GT(lost, 0u);
    EXPECT_EQ(collect.numbers.size() + lost, 300u);
    std::ranges::sort(collect.numbers);
    EXPECT_EQ(std::ranges::adjacent_find(collect.numbers), collect.numbers.end());
}

TEST(StreamMixed, filters_in_workers_stay_where_they_are_while_the_graph_is_edited) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(mixed());
    Graph graph;
    auto& numbers = graph.add<processes::Numbers>("numbers", {}, Value{2000});
    auto& where =
        graph.add<Where>("where", {.target_classes = {"workers"}}, static_cast<Value>(getpid()), Value{1} << 40);
    auto& collect = graph.add<Collect>("collect");
    graph.connect(numbers.out, where.in);
    graph.connect(where.out, collect.in);
    auto run = graph.start(machine);
    for (std::size_t capacity = 2; capacity <= 6; ++capacity)
        run.edit([&](Edit& edit) { edit.change("numbers.out", "where.in", {.capacity = capacity}); });
    try {
        run.edit([](Edit& edit) { edit.place("where", {0}); });
        ADD_FAILURE() << "it was moved";
    } catch (const GraphError& error) {
        EXPECT_NE(std::string(error.what()).find("cannot go from the program to a worker process, or back"),
                  std::string::npos)
            << error.what();
    }
    run.finish();
    ASSERT_EQ(collect.numbers.size(), 2000u);
    for (Value i = 0; i < 2000; ++i) EXPECT_EQ(collect.numbers[i], i);
    EXPECT_EQ(std::ranges::count(collect.places, static_cast<Value>(getpid())), 0);
    EXPECT_EQ(run.statistics().filters[1].made_again, 0u);
}

TEST(StreamMixed, tasks_go_to_the_class_that_is_named) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(mixed());
    auto places = machine.array<std::int64_t>(2);
    constexpr auto where = [](std::span<std::int64_t> to) { to[0] = getpid(); };
    machine.on("fast").call(where, out(std::span(places.data(), 1)));
    machine.on("workers").call(where, out(std::span(places.data() + 1, 1)));
    machine.finish();
    EXPECT_EQ(places[0], getpid());
    EXPECT_NE(places[1], getpid());
    EXPECT_NE(places[1], 0);
}

TEST(StreamMixed, a_barrier_waits_for_all_classes_and_counts_the_failures_of_all) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(mixed());
    auto done = machine.array<std::int64_t>(1);
    constexpr auto fail = [] { throw std::runtime_error("on purpose"); };
    constexpr auto slow = [](std::span<std::int64_t> to) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        to[0] = 1;
    };
    for (const bool all : {false, true}) {
        done[0] = 0;
        machine.on("fast").call(fail);
        machine.on("workers").call(fail);
        machine.on("workers").call(slow, out(std::span(done.data(), 1)));
        try {
            if (all) machine.finish();
            else machine.barrier();
            FAIL() << "no failure";
        } catch (const TaskFailed& failed) {
            EXPECT_EQ(failed.target(), 0);
            EXPECT_EQ(failed.others(), 1u);
        }
        EXPECT_EQ(done[0], 1) << "it did not wait for the workers";
    }
}

TEST(StreamMixed, classes_that_cannot_be_are_refused_by_name) {
    const auto refusal = [](std::vector<TargetClass> classes) {
        try {
            Machine machine{{.classes = std::move(classes)}};
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(refusal({{.name = "a"}, {.name = "a"}}).find("there twice"), std::string::npos);
    EXPECT_NE(refusal({{.name = "a", .speed = 0}}).find("speed"), std::string::npos);
    EXPECT_NE(refusal({{.name = "a", .targets = 0}}).find("0 targets"), std::string::npos);
    EXPECT_NE(refusal({{.name = "a", .isolation = Isolation::process, .speed = 0.5}}).find("as fast as they are"),
              std::string::npos);
    Machine machine{{.targets = 1}};
    Graph graph;
    graph.add<Collect>("collect", {.target_classes = {"gpu"}});
    try {
        graph.start(machine);
        FAIL();
    } catch (const GraphError& error) {
        EXPECT_NE(std::string(error.what()).find("no class of targets 'gpu'"), std::string::npos) << error.what();
    }
}
