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
    std::uint64_t calls = 0, done = 0, failed = 0, staged = 0;
};
Sums sums_of(const trace::Snapshot& snapshot) {
    Sums sums;
    for (const auto& [key, entry] : snapshot.tracks()) {
        if (const auto* initiator = std::get_if<trace::InitiatorTotals>(&entry.totals)) {
            sums.calls += initiator->calls;
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
