// Many filters, few targets, several runs and several threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "stream/parts.hpp"

using namespace penstock;
using parts::Collect;
using parts::Numbers;
using parts::PassOn;

TEST(Scale, a_thousand_filters_share_one_target) {
    Machine machine{{.targets = 1}};
    for (const bool placed : {false, true}) {
        Graph graph;
        FilterOptions options;
        if (placed) options.targets = {0};
        auto& source = graph.add<Numbers>("source", options, 50);
        auto* before = &source.out;
        for (int i = 0; i < 998; ++i) {
            auto& pass = graph.add<PassOn>("pass " + std::to_string(i), options);
            graph.connect(*before, pass.in, {.fuse = i % 2 == 0});
            before = &pass.out;
        }
        auto& sink = graph.add<Collect>("sink", options);
        graph.connect(*before, sink.in);
        auto run = graph.start(machine);
        run.finish();
        EXPECT_EQ(sink.got, parts::numbers(50));
    }
}

TEST(Scale, a_thousand_filters_are_stopped) {
    Machine machine{{.targets = 1}};
    Graph graph;
    for (int i = 0; i < 500; ++i) {
        auto& source = graph.add<Numbers>("source " + std::to_string(i), {.targets = {0}}, 1 << 30);
        auto& sink = graph.add<Collect>("sink " + std::to_string(i), {.targets = {0}});
        graph.connect(source.out, sink.in);
    }
    auto run = graph.start(machine);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    run.stop();
    EXPECT_TRUE(run.ended());
}

TEST(Scale, a_machine_without_targets_runs_a_graph_in_the_thread_that_waits) {
    Machine machine{{.targets = 0}};
    Graph graph;
    auto& source = graph.add<Numbers>("source", {}, 1'000);
    auto& pass = graph.add<PassOn>("pass", {.copies = 3});
    auto& sink = graph.add<Collect>("sink");
    graph.connect(source.out, pass.in);
    graph.connect(pass.out, sink.in, {.ordered = true});
    auto run = graph.start(machine);
    run.edit([](Edit& edit) { edit.copies("pass", 2); });
    run.finish();
    EXPECT_EQ(sink.got, parts::numbers(1'000));
}

TEST(Scale, two_runs_share_a_machine) {
    Machine machine{{.targets = 2}};
    struct Line {
        Graph graph;
        Numbers& source = graph.add<Numbers>("source", {.targets = {0}}, 5'000);
        PassOn& pass = graph.add<PassOn>("pass", {.copies = 2});
        Collect& sink = graph.add<Collect>("sink", {.targets = {1}});
        Line() {
            graph.connect(source.out, pass.in);
            graph.connect(pass.out, sink.in, {.ordered = true});
        }
    };
    Line first, second;
    auto one = first.graph.start(machine), other = second.graph.start(machine);
    std::thread thread([&] { other.finish(); });
    one.finish();
    thread.join();
    EXPECT_EQ(first.sink.got, parts::numbers(5'000));
    EXPECT_EQ(second.sink.got, parts::numbers(5'000));
}

TEST(Scale, threads_share_a_writer_and_a_reader) {
    Machine machine{{.targets = 2}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& pass = graph.add<PassOn>("pass", {.copies = 2});
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, pass.in, {.capacity = 3});
    graph.connect(pass.out, reader.input, {.capacity = 3});
    auto run = graph.start(machine);
    std::mutex lock;
    std::vector<int> got;
    std::vector<std::thread> writers, readers;
    for (int thread = 0; thread < 3; ++thread) {
        writers.emplace_back([&, thread] {
            for (int i = thread; i < 3'000; i += 3) writer.write(std::span<const int>(&i, 1));
        });
        readers.emplace_back([&] {
            while (const auto buffer = reader.read()) {
                const std::lock_guard guard(lock);
                got.push_back((*buffer)[0]);
            }
        });
    }
    for (auto& thread : writers) thread.join();
    writer.close();
    for (auto& thread : readers) thread.join();
    run.finish();
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, parts::numbers(3'000));
}

TEST(Scale, handles_refuse_their_use_where_they_hold_nothing_or_nothing_runs) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, reader.input);
    EXPECT_THROW(writer.make(1), RunEnded);
    EXPECT_THROW(reader.read(), RunEnded);
    auto run = graph.start(machine);
    auto buffer = writer.make(4);
    EXPECT_THROW(buffer.image<2>(), UsageError);
    writer.write(std::move(buffer));
    EXPECT_THROW((void)buffer.size(), UsageError);
    EXPECT_THROW(writer.write(std::move(buffer)), UsageError);
    EXPECT_FALSE(reader.read_if_any()->empty());
    EXPECT_FALSE(reader.read_if_any().has_value());
    writer.close();
    const int value[] = {1};
    EXPECT_THROW(writer.write(value), RunEnded);
    EXPECT_FALSE(reader.read().has_value());
    run.finish();
    EXPECT_THROW(run.edit([](Edit&) {}), RunEnded);
}
