// What a machine says about itself: counters that add up, a timeline that parses, names that people know.
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "task/support.hpp"
#include "trace/json.hpp"

using namespace penstock;
using namespace task_tests;

namespace {

void named_procedure(std::span<const int> x, std::span<int> y) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] + 1;
}

struct Sums {
    std::uint64_t calls = 0, done = 0, failed = 0, staged = 0, stalls = 0;
};
Sums sums_of(const trace::Snapshot& snapshot) {
    Sums sums;
    for (const auto& [key, entry] : snapshot.tracks()) {
        if (const auto* initiator = std::get_if<trace::InitiatorTotals>(&entry.totals)) {
            sums.calls += initiator->calls;
            sums.stalls += initiator->stalls;
            sums.done += initiator->helped + initiator->inlined;
        } else {
            const auto& target = std::get<trace::TargetTotals>(entry.totals);
            sums.done += target.tasks;
            sums.failed += target.failed;
            sums.staged += target.staged_bytes;
        }
    }
    return sums;
}

TEST(MachineTrace, counts_every_task_once_wherever_it_ran) {
    for (int targets : {0, 1, 2}) {
        for (const auto distribution : {Distribution::balanced, Distribution::round_robin}) {
            auto options = with_targets(targets);
            options.distribution = distribution;
            Machine machine(options);
            std::vector<int> x(10), y(10);
            for (int i = 0; i < 5000; ++i) {
                machine.call([](std::span<const int>) {}, in(x));
                if (i % 500 == 0) machine.barrier();
            }
            std::thread([&] {
                for (int i = 0; i < 1000; ++i) machine.call([](std::span<const int>) {}, in(y));
                machine.barrier();
            }).join();
            machine.finish();
            const auto sums = sums_of(machine.snapshot());
            EXPECT_EQ(sums.calls, 6000u);
            EXPECT_EQ(sums.done, sums.calls);
        }
    }
}

TEST(MachineTrace, subtracts_to_the_tasks_of_a_phase) {
    Machine machine(with_targets(1));
    for (int i = 0; i < 100; ++i) machine.call([] {});
    machine.finish();
    const auto before = machine.snapshot();
    for (int i = 0; i < 50; ++i) machine.call([] {});
    machine.finish();
    const auto sums = sums_of(machine.snapshot() - before);
    EXPECT_EQ(sums.calls, 50u);
    EXPECT_EQ(sums.done, 50u);
}

TEST(MachineTrace, counts_every_byte_that_was_staged_once) {
    Machine machine(with_targets(1));
    std::vector<int> x(16), y(16);
    const auto before = machine.snapshot();
    for (int i = 0; i < 300; ++i) machine.on(0).call<named_procedure>(staged(in(x)), staged(out(y)));
    machine.finish();
    EXPECT_EQ(sums_of(machine.snapshot() - before).staged, 300 * 2 * 16 * sizeof(int));
}

TEST(MachineTrace, goes_on_with_its_samples_behind_lone_tasks_that_run_others_while_they_wait) {
    Machine machine(with_targets(1));
    constexpr int rounds = 1024;
    const auto two_inside = [](Machine* inner) {
        inner->call([] {}).wait();
        inner->call([] {}).wait();
    };
    for (int i = 0; i < rounds; ++i) machine.on(0).call(two_inside, &machine).wait();
    machine.finish();
    std::uint64_t tasks = 0, sampled = 0;
    const auto snapshot = machine.snapshot();
    for (const auto& [key, entry] : snapshot.tracks())
        if (const auto* const target = std::get_if<trace::TargetTotals>(&entry.totals)) {
            tasks += target->tasks;
            sampled += target->sampled_tasks;
        }
    EXPECT_EQ(tasks, 3u * rounds);
    EXPECT_GE(sampled, tasks / trace::tasks_a_sample);
    EXPECT_LE(sampled, tasks / trace::tasks_a_sample + 1);
}

TEST(MachineTrace, has_a_timeline_with_every_task_under_its_name) {
    Machine machine(with_targets(1));
    std::vector<int> x(16);
    std::vector<std::vector<int>> results(100, std::vector<int>(16));
    auto& y = results.front();
    machine.call<named_procedure>(in(x), out(y)).wait();  // before: not in it
    machine.start_timeline();
    for (auto& result : results) machine.call<named_procedure>(in(x), out(result));
    machine.barrier();
    machine.stop_timeline();
    machine.call<named_procedure>(in(x), out(y)).wait();  // after: not in it
    const auto text = machine.timeline_json();
    std::size_t found = 0;
    for (auto at = text.find("named_procedure"); at != text.npos; at = text.find("named_procedure", at + 1)) ++found;
    EXPECT_GE(found, 100u);
    EXPECT_NE(text.find("target 0"), std::string::npos);
    EXPECT_NE(text.find("thread 0"), std::string::npos);
    EXPECT_NO_THROW(penstock::test::JsonReader::read(text));
}

/// The events of a kind in a machine's timeline, in the order of their tracks.
std::vector<penstock::test::Json> events_of(const Machine& machine, const std::string& kind) {
    std::vector<penstock::test::Json> found;
    const auto all = penstock::test::JsonReader::read(machine.timeline_json());
    for (const auto& event : all["traceEvents"].list)
        if (event["ph"].text == "X" && event["cat"].text == kind) found.push_back(event);
    return found;
}
double begin_of(const penstock::test::Json& event) { return event["ts"].number; }
double end_of(const penstock::test::Json& event) { return event["ts"].number + event["dur"].number; }

TEST(MachineTrace, has_a_timeline_that_says_when_each_task_was_issued) {
    for (const auto distribution : {Distribution::balanced, Distribution::round_robin}) {
        auto options = with_targets(1);
        options.distribution = distribution;
        Machine machine(options);
        machine.start_timeline();
        for (int i = 0; i < 500; ++i) machine.call([] {});
        machine.barrier();
        machine.stop_timeline();
        const auto tasks = events_of(machine, "task");
        ASSERT_EQ(tasks.size(), 500u);
        for (const auto& task : tasks) {
            ASSERT_TRUE(task["args"].has("issued_us"));
            EXPECT_LE(task["args"]["issued_us"].number, begin_of(task));
        }
    }
}

std::vector<penstock::test::Json> calls_of_named_procedure(Machine& machine) {
    auto tasks = events_of(machine, "task");
    std::erase_if(tasks, [](auto& task) { return task["name"].text.find("named_procedure") == std::string::npos; });
    return tasks;
}

TEST(MachineTrace, has_a_timeline_with_copies_inside_the_task_that_they_are_for) {
    auto options = with_targets(1);
    options.prefetch = Prefetch::never;  // whose fetches are not copies
    Machine machine(options);
    std::vector<int> x(4096), y(4096);
    machine.start_timeline();
    for (int i = 0; i < 20; ++i) machine.on(0).call<named_procedure>(staged(in(x)), staged(out(y)));
    machine.finish();
    machine.stop_timeline();
    const auto tasks = events_of(machine, "task"), in = events_of(machine, "fetch"),
               back = events_of(machine, "write-back");
    ASSERT_EQ(tasks.size(), 20u);
    ASSERT_EQ(in.size(), 20u);
    ASSERT_EQ(back.size(), 20u);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        EXPECT_EQ(in[i]["args"]["bytes_in"].number, 4096 * sizeof(int));
        EXPECT_EQ(back[i]["args"]["bytes_out"].number, 4096 * sizeof(int));
        EXPECT_EQ(in[i]["args"]["id"].number, tasks[i]["args"]["id"].number);
        EXPECT_LE(begin_of(tasks[i]), begin_of(in[i]) + 0.001);  // microseconds, rounded to nanoseconds
        EXPECT_LE(end_of(in[i]), begin_of(back[i]) + 0.001);
        EXPECT_LE(end_of(back[i]), end_of(tasks[i]) + 0.001);
    }
}

TEST(MachineTrace, has_a_timeline_with_fetches_ahead_before_the_task_that_they_are_for) {
    auto options = with_targets(1);
    options.prefetch = Prefetch::always;
    Machine machine(options);
    std::vector<int> x(4096), y(4096);
    Gate gate;
    machine.on(0).call(boxed([&] { gate.wait(); }));
    machine.start_timeline();
    for (int i = 0; i < 10; ++i) machine.on(0).call<named_procedure>(in(x), out(y));
    gate.open();
    machine.finish();
    machine.stop_timeline();
    const auto tasks = calls_of_named_procedure(machine);
    const auto fetches = events_of(machine, "fetch");
    ASSERT_EQ(tasks.size(), 10u);
    ASSERT_GE(fetches.size(), 9u);  // of all but the first, whose turn comes at once
    for (std::size_t i = 1; i < tasks.size(); ++i)
        EXPECT_LE(end_of(fetches[fetches.size() - tasks.size() + i]), begin_of(tasks[i]) + 0.001);
}

TEST(MachineTrace, has_a_timeline_in_which_the_fetch_of_a_staged_task_lies_inside_the_task_before_it) {
    auto options = with_targets(1);
    options.prefetch = Prefetch::always;
    Machine machine(options);
    std::vector<int> x(4096), y(4096);
    Gate gate;
    machine.on(0).call(boxed([&] { gate.wait(); }));
    for (int i = 0; i < 10; ++i) machine.on(0).call<named_procedure>(staged(in(x)), staged(out(y)));
    machine.start_timeline();
    gate.open();
    machine.finish();
    machine.stop_timeline();
    const auto tasks = calls_of_named_procedure(machine);
    const auto back = events_of(machine, "write-back");
    std::vector<penstock::test::Json> copies, ahead;
    for (auto& fetch : events_of(machine, "fetch"))
        (fetch["args"]["bytes_in"].number == 4096 * sizeof(int) ? copies : ahead).push_back(fetch);
    ASSERT_EQ(tasks.size(), 10u);
    ASSERT_EQ(copies.size(), 10u);
    ASSERT_EQ(back.size(), 10u);
    ASSERT_GE(ahead.size(), 9u);  // of all but the first, whose turn comes at once
    for (std::size_t i = 1; i < tasks.size(); ++i) {
        const auto& asked = ahead[ahead.size() - tasks.size() + i];
        EXPECT_LE(end_of(copies[i - 1]), begin_of(asked) + 0.001);  // inside its body
        EXPECT_LE(end_of(asked), begin_of(back[i - 1]) + 0.001);
        EXPECT_LE(end_of(tasks[i - 1]), begin_of(copies[i]) + 0.001);  // what the task before writes is not missed
    }
}

TEST(MachineTrace, has_a_timeline_with_stalls_and_with_idle_targets) {
    auto options = with_targets(1);
    options.depth = 1;
    options.when_full = WhenFull::wait;
    Machine machine(options);
    machine.start_timeline();
    Gate gate;
    machine.on(0).call(boxed([&] { gate.wait(); }));
    std::thread opener([&] {
        EXPECT_TRUE(eventually([&] { return sums_of(machine.snapshot()).stalls != 0; }));
        gate.open();
    });
    machine.on(0).call([] {});  // the lane has no room before the gate opens
    opener.join();
    machine.finish();
    EXPECT_TRUE(eventually([&] {  // the target rests between calls that come seldom enough
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        machine.on(0).call([] {}).wait();
        return !events_of(machine, "idle").empty();
    }));
    machine.stop_timeline();
    const auto tasks = events_of(machine, "task"), stalls = events_of(machine, "stall"),
               idle = events_of(machine, "idle");
    ASSERT_EQ(stalls.size(), 1u);
    EXPECT_LE(begin_of(stalls[0]), end_of(tasks[0]) + 0.001);  // it began while the first task waited for the gate
    EXPECT_GE(end_of(stalls[0]), begin_of(stalls[0]));
    for (const auto& period : idle)
        for (const auto& task : tasks)
            EXPECT_TRUE(end_of(period) <= begin_of(task) + 0.001 || begin_of(period) + 0.001 >= end_of(task));
}

TEST(MachineTrace, may_be_read_while_tasks_run) {
    Machine machine(with_targets(1));
    std::atomic<bool> stop{false};
    std::thread reader([&] {
        while (!stop.load()) {
            const auto sums = sums_of(machine.snapshot());
            EXPECT_LE(sums.done, sums.calls + 100'000);
            machine.start_timeline(64);
            EXPECT_FALSE(machine.timeline_json().empty());
            machine.stop_timeline();
            EXPECT_FALSE(machine.waiting_report().empty());
        }
    });
    for (int round = 0; round < scaled(200, 30); ++round) {
        for (int i = 0; i < 200; ++i) machine.call([] {});
        machine.barrier();
    }
    stop.store(true);
    reader.join();
}

TEST(MachineTrace, refuses_a_timeline_of_no_events) {
    Machine machine(with_targets(1));
    EXPECT_THROW(machine.start_timeline(0), UsageError);
    machine.call([] {}).wait();
}

}  // namespace
