// A limit of bytes for the buffers of a target: nobody goes beyond it by more than he may have in any case, and nobody
// waits for ever.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>

#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "tests/stream/processes_support.hpp"

namespace {

using penstock::FilterOptions;
using penstock::Graph;
using penstock::Input;
using penstock::Machine;
using penstock::MachineOptions;
using penstock::Output;

constexpr std::size_t kib = 1024;

struct Count {
    std::atomic<int> now{0}, most{0}, made{0}, read{0};
    std::atomic<bool> enough{false};
    void more() {
        made.fetch_add(1);
        const int here = now.fetch_add(1) + 1;
        for (int known = most.load(); known < here && !most.compare_exchange_weak(known, here);) {
        }
    }
};

/// So many buffers of a KiB; -1: until there are enough.
struct Maker {
    Output<std::byte> out{"out"};
    Count* count;
    int left;
    Maker(Count* to, int buffers) : count(to), left(buffers) {}
    bool operator()() {
        if (left == 0 || count->enough.load()) return false;
        left -= left > 0;
        auto buffer = out.make(kib);
        count->more();
        out.write(std::move(buffer));
        return true;
    }
};

/// Reads none before so many were made; 1 where its target may have to make the others.
struct LateReader {
    Input<std::byte> in{"in"};
    Count* count;
    int first;
    LateReader(Count* to, int made) : count(to), first(made) {}
    void operator()() {
        while (count->made.load() < first) std::this_thread::yield();
        const auto buffer = in.read();
        count->read.fetch_add(1);
        count->now.fetch_sub(1);
    }
};

MachineOptions limited(int targets, std::size_t bytes) { return {.targets = targets, .buffer_bytes = bytes}; }

TEST(BudgetOfATarget, is_shared_by_its_filters_and_kept) {
    constexpr int buffers = 200, all = 8;
    Machine machine{limited(2, all * kib)};
    Graph graph;
    Count count;
    for (const std::string name : {"a", "b"}) {
        auto& maker = graph.add<Maker>(name, {.targets = {0}}, &count, buffers);
        auto& reader = graph.add<LateReader>(name + " reader", {.targets = {1}}, &count, all / 2);
        graph.connect(maker.out, reader.in, {.capacity = 64});
    }
    graph.start(machine).finish();
    EXPECT_EQ(count.read.load(), 2 * buffers);
    EXPECT_LE(count.most.load(), all + 2);  // one of them may have two whatever the other has
}

TEST(BudgetOfATarget, is_one_for_all_filters_without_a_place) {
    constexpr int buffers = 100, all = 6;
    Machine machine{limited(1, all * kib)};
    Graph graph;
    Count count;
    auto& maker = graph.add<Maker>("maker", {}, &count, buffers);
    auto& reader = graph.add<LateReader>("reader", {.targets = {0}}, &count, 1);
    graph.connect(maker.out, reader.in, {.capacity = 64});
    graph.start(machine).finish();
    EXPECT_EQ(count.read.load(), buffers);
    EXPECT_LE(count.most.load(), all);
}

/// The numbers from 0 on, through filters that make buffers of their own, with no room at all.
std::uint64_t sum_through(Machine& machine, const std::vector<FilterOptions>& places, processes::Value values = 300) {
    Graph graph;
    auto& numbers = graph.add<processes::Numbers>("numbers", {}, values);
    auto* from = &numbers.out;
    for (std::size_t i = 0; i < places.size(); ++i) {
        auto& stage = graph.add<processes::Times>("stage " + std::to_string(i), places[i], processes::Value{1});
        graph.connect(*from, stage.in);
        from = &stage.out;
    }
    auto& reader = graph.add_reader<processes::Value>("reader");
    graph.connect(*from, reader.input);
    auto run = graph.start(machine);
    std::uint64_t sum = 0;
    while (const auto buffer = reader.read()) sum += buffer->span()[0];
    run.finish();
    return sum;
}

TEST(BudgetOfATarget, that_is_nothing_lets_everybody_go_on_with_two) {
    for (const int targets : {0, 1, 2}) {
        Machine machine{limited(targets, 1)};
        EXPECT_EQ(sum_through(machine, {{}, {}, {}}), 299u * 300 / 2) << targets << " targets";
    }
    Machine machine{limited(2, 1)};
    EXPECT_EQ(sum_through(machine, {{.targets = {0}}, {.targets = {0}}, {.targets = {1}}}), 299u * 300 / 2);
    EXPECT_EQ(sum_through(machine, {{.copies = 2}, {.targets = {1}}, {.copies = 3}}), 299u * 300 / 2);
}

TEST(BudgetOfATarget, holds_for_worker_processes) {
    SKIP_WITHOUT_PROCESSES();
    for (const std::size_t bytes : {std::size_t{1}, 4 * sizeof(processes::Value)}) {
        auto options = processes::workers(2);
        options.buffer_bytes = bytes;
        Machine machine{options};
        EXPECT_EQ(sum_through(machine, {{.targets = {0}}, {.targets = {0}}, {.targets = {1}}}, 60), 59u * 60 / 2);
    }
}

TEST(BudgetOfATarget, goes_with_a_filter_that_moves) {
    Machine machine{limited(2, 4 * kib)};
    Graph graph;
    Count count;
    auto& maker = graph.add<Maker>("maker", {.targets = {0}}, &count, -1);
    auto& reader = graph.add<LateReader>("reader", {.targets = {1}}, &count, 1);
    graph.connect(maker.out, reader.in, {.capacity = 64});
    auto run = graph.start(machine);
    for (int to = 0; to < 20; ++to) run.edit([&](penstock::Edit& edit) { edit.place("maker", {to % 2}); });
    count.enough.store(true);
    run.finish();
    EXPECT_EQ(count.read.load(), count.made.load());
    EXPECT_LE(count.most.load(), 4 + 2 + 4);  // what was counted at the target before comes back there
}

TEST(BudgetOfATarget, counts_what_all_read_once) {
    Machine machine{limited(2, 1)};
    Graph graph;
    auto& numbers = graph.add<processes::Numbers>("numbers", {.targets = {0}}, processes::Value{200});
    auto& again = graph.add<processes::Times>("again", {.copies = 2}, processes::Value{1});
    auto& reader = graph.add_reader<processes::Value>("reader");
    graph.connect(numbers.out, again.in, {.policy = penstock::Policy::broadcast});
    graph.connect(again.out, reader.input);
    auto run = graph.start(machine);
    std::uint64_t sum = 0;
    while (const auto buffer = reader.read()) sum += buffer->span()[0];
    run.finish();
    EXPECT_EQ(sum, 2 * 199u * 200 / 2);
}

}  // namespace
