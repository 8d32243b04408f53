// A forked child has the memory of a run, and of its threads none: whatever it asks of the run is answered with
// MachineGone at once.
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "penstock/components.hpp"
#include "penstock/edit.hpp"
#include "penstock/error.hpp"
#include "penstock/for_each.hpp"
#include "penstock/heap.hpp"
#include "penstock/machine.hpp"
#include "penstock/resident.hpp"
#include "penstock/run.hpp"
#include "tests/bounded_child.hpp"
#include "tests/sanitizers.hpp"

namespace {

using namespace penstock;
using penstock_tests::ending_of;

#define SKIP_UNDER_THREAD_SANITIZER()     \
    if (penstock_tests::thread_sanitizer) \
    GTEST_SKIP() << "the thread sanitizer follows no fork of a program with several threads"

struct Source {
    Output<int> out{"out"};
    int n = 0;
    bool operator()() {
        auto buffer = out.make(100);
        buffer.edit()[0] = n++;
        out.write(std::move(buffer));
        return true;
    }
};
struct Sink {
    Input<int> in{"in"};
    void operator()() { in.read(); }
};

MachineOptions two_targets() {
    MachineOptions options;
    options.targets = 2;
    return options;
}

struct Use {
    const char* name;
    std::function<void()> use;
};

/// In a child of its own, at a moment of its own: `use` throws MachineGone.
void expect_gone(const Use& use) {
    for (int time = 0; time < 3; ++time) {
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        const auto ending = ending_of(
            [&] {
                try {
                    use.use();
                } catch (const MachineGone&) {
                    return 0;
                }
                std::fprintf(stderr, "it returned");
                return 1;
            },
            std::chrono::seconds(10));
        EXPECT_TRUE(ending.good()) << use.name << ": " << ending.text();
    }
}

TEST(ForkedChildren, every_use_of_a_run_is_refused_in_a_forked_child) {
    SKIP_UNDER_THREAD_SANITIZER();
    Machine machine(two_targets());
    Graph graph;
    auto& source = graph.add<Source>("a");
    auto& sink = graph.add<Sink>("b");
    graph.connect(source.out, sink.in);
    auto& writer = graph.add_writer<int>("w");
    auto& sink_of_writer = graph.add<Sink>("c");
    graph.connect(writer.output, sink_of_writer.in);
    auto& other = graph.add<Source>("d");
    auto& reader = graph.add_reader<int>("r");
    graph.connect(other.out, reader.input);
    auto run = graph.start(machine);
    ASSERT_TRUE(reader.read());
    auto held = reader.read();
    const std::vector<int> values(10);
    const Use uses[] = {
        {"finish", [&] { run.finish(); }},
        {"edit", [&] { run.edit([](Edit& edit) { edit.copies("a", 1); }); }},
        {"look_while_waiting", [&] { run.look_while_waiting([] {}); }},
        {"close", [&] { run.close(); }},
        {"stop", [&] { run.stop(); }},
        {"send", [&] { run.send({"x", true}); }},
        {"send_after", [&] { run.send_after(std::chrono::milliseconds(1), {"x", true}); }},
        {"listen", [&] { run.listen({}); }},
        {"statistics", [&] { (void)run.statistics(); }},
        {"description", [&] { (void)run.description(); }},
        {"lost", [&] { (void)run.lost(); }},
        {"report", [&] { (void)run.report(); }},
        {"name", [&] { (void)run.name(); }},
        {"save", [&] { run.save("/dev/null"); }},
        {"drawing", [&] { (void)run.drawing(); }},
        {"start", [&] { (void)graph.start(machine); }},
        {"a writer's make", [&] { (void)writer.make(3); }},
        {"a writer's write", [&] { writer.write(values); }},
        {"a writer's close", [&] { writer.close(); }},
        {"a reader's read", [&] { (void)reader.read(); }},
        {"a reader's read_if_any", [&] { (void)reader.read_if_any(); }},
    };
    for (const auto& use : uses) expect_gone(use);
    const auto ending = ending_of([&] {
        const bool over = run.ended();
        held.reset();
        {
            penstock::Run goes = std::move(run);
        }
        Machine own(two_targets());  // and the child can have a run of its own
        Graph again;
        auto& from = again.add<Source>("a");
        auto& to = again.add<Sink>("b");
        again.connect(from.out, to.in);
        auto its = again.start(own);
        its.stop();
        return over ? 0 : 1;
    });
    EXPECT_TRUE(ending.good()) << ending.text();
    run.stop();
    run.finish();
}

TEST(ForkedChildren, every_use_of_a_machine_is_refused_in_a_forked_child) {
    SKIP_UNDER_THREAD_SANITIZER();
    Machine machine(two_targets());
    std::vector<int> values(100);
    const auto add = [](std::span<int> all) { ++all[0]; };
    const auto done = machine.call(add, inout(values));
    done.wait();
    const Use uses[] = {
        {"call", [&] { machine.call(add, inout(values)); }},
        {"a named target's call", [&] { machine.on(0).call(add, inout(values)); }},
        {"a call with options", [&] { machine.with({.priority = Priority::high}).call(add, inout(values)); }},
        {"a call after another", [&] { machine.after(done).call(add, inout(values)); }},
        {"a handle's wait", [&] { done.wait(); }},
        {"poll", [&] { machine.poll(); }},
        {"notification_descriptor", [&] { (void)machine.notification_descriptor(); }},
        {"pending", [&] { (void)machine.pending(); }},
        {"barrier", [&] { machine.barrier(); }},
        {"finish", [&] { machine.finish(); }},
        {"initiator", [&] { (void)machine.initiator(); }},
        {"array", [&] { (void)machine.array<int>(10); }},
        {"heap", [&] { (void)machine.heap(); }},
        {"for_each", [&] { machine.for_each(100, [](std::size_t) {}); }},
        {"processor", [&] { (void)machine.processor(0); }},
        {"description", [&] { (void)machine.description(); }},
        {"snapshot", [&] { (void)machine.snapshot(); }},
        {"start_timeline", [&] { machine.start_timeline(); }},
        {"stop_timeline", [&] { machine.stop_timeline(); }},
        {"timeline_json", [&] { (void)machine.timeline_json(); }},
        {"timeline_id", [&] { (void)machine.timeline_id("x"); }},
        {"waiting_report", [&] { (void)machine.waiting_report(); }},
    };
    for (const auto& use : uses) expect_gone(use);
    machine.finish();
}

/// Threads are in and out of the locks that all of the process shares, while others fork: no child finds one of them
/// closed.
TEST(ForkedChildren, what_the_whole_process_shares_is_free_in_every_child) {
    SKIP_UNDER_THREAD_SANITIZER();
    if (penstock_tests::address_sanitizer)
        GTEST_SKIP() << "the address sanitizer's allocator is not free in such a child";
    const auto use = [] {
        Machine machine({.targets = 1});
        auto array = machine.array<int>(10);
        machine.call([](int* at) { *at = 1; }, array.data()).wait();
        auto resident = machine.resident(std::vector<int>(100));
        (void)Components::known().names();
    };
    use();
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            while (!stop.load()) use();
        });
    const char* const longer = std::getenv("PENSTOCK_LONG");
    const int forks = longer != nullptr ? 10'000 : 25;
    for (int i = 0; i < forks && !testing::Test::HasFailure(); ++i) {
        const auto ending = ending_of([&] {
            use();
            return 0;
        });
        EXPECT_TRUE(ending.good()) << "fork " << i << ": " << ending.text();
    }
    stop.store(true);
    for (auto& thread : threads) thread.join();
}

TEST(MovedRun, is_refused_in_words) {
    Machine machine(two_targets());
    Graph graph;
    auto& source = graph.add<Source>("a");
    auto& sink = graph.add<Sink>("b");
    graph.connect(source.out, sink.in);
    auto run = graph.start(machine);
    auto moved = std::move(run);
    EXPECT_THROW(run.stop(), UsageError);
    EXPECT_THROW(run.finish(), UsageError);
    EXPECT_TRUE(run.ended());
    moved.stop();
}

}  // namespace
