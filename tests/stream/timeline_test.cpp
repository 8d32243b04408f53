// Firings in the timeline: under the filter's name, on the row of the thread that ran them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "penstock/detail/machine/clock.hpp"
#include "stream/parts.hpp"

using namespace penstock;

namespace {

std::string field(const std::string& line, const std::string& name) {
    const auto key = "\"" + name + "\":";
    auto begin = line.find(key);
    if (begin == line.npos) return "";
    begin += key.size();
    if (line[begin] == '"') ++begin;
    return line.substr(begin, line.find_first_of("\",}", begin) - begin);
}

/// How often each filter fired on each thread.
std::map<std::pair<std::string, std::string>, std::uint64_t> firings_in(const std::string& timeline) {
    std::map<std::string, std::string> threads;
    std::map<std::pair<std::string, std::string>, std::uint64_t> counted;
    std::istringstream lines(timeline);
    for (std::string line; std::getline(lines, line);) {
        if (line.find("\"thread_name\"") != line.npos)
            threads[field(line, "tid")] = field(line.substr(line.find("args")), "name");
        if (field(line, "cat") == "firing") ++counted[{field(line, "name"), threads[field(line, "tid")]}];
    }
    return counted;
}

std::uint64_t firings_of(const RunStatistics& statistics, const std::string& name) {
    for (const auto& filter : statistics.filters)
        if (filter.name == name) return filter.firings;
    return 0;
}

/// Takes longer than a clock costs.
struct Work {
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        auto buffer = in.read();
        for (const auto begin = Clock::ticks(); Clock::nanoseconds(Clock::ticks() - begin) < 3000;) {
        }
        out.write(std::move(buffer));
    }
};

/// As often as it can, until it is told.
struct Endless {
    Output<int> out{"out"};
    std::atomic<bool>* over;
    explicit Endless(std::atomic<bool>* until) : over(until) {}
    bool operator()() {
        out.write(out.make(1));
        return !over->load();
    }
};

TEST(Timeline, shows_each_firing_by_the_name_of_its_filter_in_the_row_of_its_target) {
    Machine machine{{.targets = 2}};
    machine.start_timeline();
    Graph graph;
    auto& numbers = graph.add<parts::Numbers>("numbers", {.targets = {0}}, 50);
    auto& fused = graph.add<parts::PassOn>("fused", {.targets = {0}});
    auto& work = graph.add<Work>("group/work", {.targets = {1}});
    auto& collect = graph.add<parts::Collect>("collect", {.targets = {0}});
    graph.connect(numbers.out, fused.in);
    graph.connect(fused.out, work.in);
    graph.connect(work.out, collect.in);
    auto run = graph.start(machine);
    run.finish();
    machine.stop_timeline();
    auto counted = firings_in(machine.timeline_json());
    const auto statistics = run.statistics();
    EXPECT_EQ(counted.size(), 4u);
    EXPECT_EQ((counted[{"numbers", "target 0"}]), firings_of(statistics, "numbers"));
    EXPECT_EQ((counted[{"fused", "target 0"}]), 50u);
    EXPECT_EQ((counted[{"group/work", "target 1"}]), 50u);
    EXPECT_EQ((counted[{"collect", "target 0"}]), 50u);
}

TEST(Timeline, shows_what_the_thread_that_helps_fires_in_its_own_row) {
    Machine machine{{.targets = 0}};
    machine.start_timeline();
    Graph graph;
    auto& numbers = graph.add<parts::Numbers>("numbers", {}, 20);
    auto& collect = graph.add<parts::Collect>("collect");
    graph.connect(numbers.out, collect.in);
    graph.start(machine).finish();
    auto counted = firings_in(machine.timeline_json());
    EXPECT_EQ((counted[{"collect", "thread 0"}]), 20u);
    EXPECT_EQ(counted.size(), 2u);
}

TEST(Timeline, shows_the_firings_of_a_filter_that_takes_its_time_from_the_first_on_when_it_is_switched_on) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& work = graph.add<Work>("work");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, work.in);
    graph.connect(work.out, reader.input);
    auto run = graph.start(machine);
    const auto pass = [&](int count) {
        for (int i = 0; i < count; ++i) {
            writer.write(std::vector{i});
            ASSERT_TRUE(reader.read());
        }
    };
    pass(100);
    machine.start_timeline();
    pass(10);
    run.finish();
    std::uint64_t fired = 0;
    for (const auto& [where, count] : firings_in(machine.timeline_json())) fired += where.first == "work" ? count : 0;
    EXPECT_EQ(fired, 10u);
}

TEST(Timeline, may_be_switched_on_and_off_while_a_graph_runs) {
    Machine machine{{.targets = 1}};
    std::atomic<bool> over{false};
    Graph graph;
    auto& endless = graph.add<Endless>("endless", {}, &over);
    auto& collect = graph.add<parts::Collect>("collect");
    graph.connect(endless.out, collect.in);
    auto run = graph.start(machine);
    while (collect.arrived.load() < 1000) std::this_thread::yield();
    EXPECT_TRUE(firings_in(machine.timeline_json()).empty());
    machine.start_timeline(1 << 10);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (firings_in(machine.timeline_json()).size() < 2 && std::chrono::steady_clock::now() < limit)
        std::this_thread::yield();
    EXPECT_EQ(firings_in(machine.timeline_json()).size(), 2u);
    machine.stop_timeline();
    const auto seen = collect.arrived.load();
    while (collect.arrived.load() < seen + 1000) std::this_thread::yield();
    const auto before = firings_in(machine.timeline_json());
    const auto more = collect.arrived.load();
    while (collect.arrived.load() < more + 1000) std::this_thread::yield();
    EXPECT_EQ(firings_in(machine.timeline_json()), before);
    over.store(true);
    run.finish();
}

}  // namespace
