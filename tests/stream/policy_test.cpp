// Which sink gets the next buffer.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "stream/parts.hpp"

using namespace penstock;
using parts::Collect;
using parts::Numbers;

namespace {

/// One source, three sinks of one stream.
struct Fan {
    Graph graph;
    Numbers* source;
    std::vector<Collect*> sinks;
    Fan(int n, StreamOptions options) : source(&graph.add<Numbers>("source", {}, n)) {
        options.name = "fan";
        for (const char* name : {"a", "b", "c"}) {
            sinks.push_back(&graph.add<Collect>(name));
            graph.connect(source->out, sinks.back()->in, options);
        }
    }
    void run(int targets) {
        Machine machine{{.targets = targets}};
        auto running = graph.start(machine);
        running.finish();
    }
    std::vector<int> all() const {
        std::vector<int> together;
        for (const auto* sink : sinks) together.insert(together.end(), sink->got.begin(), sink->got.end());
        std::sort(together.begin(), together.end());
        return together;
    }
};

/// Doubles what it read, in place.
struct Double {
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        auto buffer = in.read();
        buffer.edit()[0] *= 2;
        out.write(std::move(buffer));
    }
};

}  // namespace

TEST(Policies, round_robin_gives_each_sink_its_turn) {
    for (const int targets : {1, 2}) {
        Fan fan(3'000, {.policy = Policy::round_robin, .capacity = 2});
        fan.run(targets);
        for (int sink = 0; sink < 3; ++sink)
            for (int i = 0; i < 1'000; ++i)
                ASSERT_EQ(fan.sinks[static_cast<std::size_t>(sink)]->got.at(static_cast<std::size_t>(i)), 3 * i + sink);
    }
}

TEST(Policies, random_loses_nothing_and_forgets_no_sink) {
    Fan fan(3'000, {.policy = Policy::random});
    fan.run(2);
    EXPECT_EQ(fan.all(), parts::numbers(3'000));
    for (const auto* sink : fan.sinks) {
        EXPECT_GT(sink->got.size(), 800u);
        EXPECT_TRUE(std::is_sorted(sink->got.begin(), sink->got.end()));
    }
}

TEST(Policies, by_key_sends_equal_keys_to_the_same_sink) {
    Fan fan(3'000, {.policy = Policy::by_key,
                    .key = [](const Tags& tags, std::span<const std::byte>) { return tags.user[0] % 17; }});
    fan.run(2);
    EXPECT_EQ(fan.all(), parts::numbers(3'000));
    std::vector<const Collect*> owner(17);
    for (const auto* sink : fan.sinks)
        for (const int value : sink->got) {
            auto& of_key = owner[static_cast<std::size_t>(value % 17)];
            if (of_key == nullptr) of_key = sink;
            ASSERT_EQ(of_key, sink);
        }
}

TEST(Policies, chosen_sends_where_the_function_says) {
    Fan fan(999, {.policy = Policy::chosen,
                  .key = [](const Tags& tags, std::span<const std::byte>) { return (tags.user[0] / 100) % 3; }});
    fan.run(2);
    EXPECT_EQ(fan.all(), parts::numbers(999));
    for (std::size_t sink = 0; sink < 3; ++sink)
        for (const int value : fan.sinks[sink]->got) ASSERT_EQ(static_cast<std::size_t>(value / 100 % 3), sink);
}

TEST(Policies, a_choice_of_no_sink_fails_by_name) {
    Fan fan(10, {.policy = Policy::chosen});
    Machine machine{{.targets = 1}};
    auto run = fan.graph.start(machine);
    try {
        run.finish();
        FAIL();
    } catch (const FilterFailed& error) {
        EXPECT_EQ(error.filter(), "source");
        EXPECT_EQ(error.firing(), 3u);
        EXPECT_NE(std::string(error.what()).find("chose sink 3 of 3"), std::string::npos);
    }
}

TEST(Policies, broadcast_shares_the_values_and_copies_them_for_who_writes) {
    Machine machine{{.targets = 2}};
    Graph graph;
    auto& source = graph.add<Numbers>("source", {}, 2'000);
    auto& twice = graph.add<Double>("twice");
    auto& again = graph.add<Double>("again");
    auto& doubled = graph.add<Collect>("doubled");
    auto& fourfold = graph.add<Collect>("fourfold");
    auto& plain = graph.add<Collect>("plain");
    const StreamOptions to_all{.policy = Policy::broadcast, .capacity = 3, .name = "to all"};
    graph.connect(source.out, twice.in, to_all);
    graph.connect(source.out, plain.in, to_all);
    graph.connect(twice.out, doubled.in, {.policy = Policy::broadcast, .name = "twice"});
    graph.connect(twice.out, again.in, {.policy = Policy::broadcast, .name = "twice"});
    graph.connect(again.out, fourfold.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(plain.got, parts::numbers(2'000));
    EXPECT_EQ(doubled.got, parts::numbers(4'000, 2));
    EXPECT_EQ(fourfold.got, parts::numbers(8'000, 4));
}

TEST(Policies, demand_driven_takes_turns_among_sinks_that_are_free_alike) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    std::vector<Collect*> sinks;
    for (const char* name : {"a", "b", "c"}) {
        sinks.push_back(&graph.add<Collect>(name));
        graph.connect(writer.output, sinks.back()->in, {.name = "fan"});
    }
    auto run = graph.start(machine);
    for (int i = 0; i < 300; ++i) {
        const int value[] = {i};
        writer.write(value);
        const auto arrived = [&] {
            int sum = 0;
            for (const auto* sink : sinks) sum += sink->arrived.load(std::memory_order_acquire);
            return sum;
        };
        while (arrived() != i + 1) std::this_thread::yield();
    }
    run.finish();
    for (const auto* sink : sinks) EXPECT_EQ(sink->got.size(), 100u);
}

/// Reads nothing until it is let.
struct Gated {
    Input<int> in{"in"};
    std::atomic<bool> open{false};
    int got = 0;
    void operator()() {
        while (!open.load(std::memory_order_acquire)) std::this_thread::yield();
        (void)in.read();
        ++got;
    }
};

TEST(Policies, demand_driven_spares_the_sink_that_does_not_read) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& writer = graph.add_writer<int>("writer");
    auto& quick = graph.add<Gated>("quick");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(writer.output, quick.in, {.capacity = 4, .name = "fan"});
    graph.connect(writer.output, reader.input, {.capacity = 4, .name = "fan"});
    auto run = graph.start(machine);
    for (int i = 0; i < 1'000; ++i) {
        if (i == 8) quick.open.store(true, std::memory_order_release);  // both are full
        const int value[] = {i};
        writer.write(value);
    }
    writer.close();
    int read = 0;
    while (reader.read()) ++read;
    run.finish();
    EXPECT_EQ(read, 4);
    EXPECT_EQ(quick.got, 996);
}

TEST(Policies, writers_of_little_do_not_all_begin_with_the_same_sink) {
    Machine machine{
        {.targets = 0}};  // with two threads a sink may be busy when its turn comes, and the next one is taken
    Graph graph;
    std::vector<Collect*> sinks;
    for (const char* name : {"a", "b", "c"}) sinks.push_back(&graph.add<Collect>(name));
    for (int i = 0; i < 6; ++i) {
        auto& source = graph.add<Numbers>("source " + std::to_string(i), {}, 1);
        for (auto* const sink : sinks) graph.connect(source.out, sink->in, {.name = "fan"});
    }
    graph.start(machine).finish();
    for (const auto* sink : sinks) EXPECT_EQ(sink->got.size(), 2u);
}

namespace {

/// Counts what each copy reads, whose firings are not brief.
struct Longer {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    std::vector<int>* read;
    std::size_t own;
    explicit Longer(std::vector<int>* all) : read(all), own(all->size()) { all->push_back(0); }
    void operator()() {
        (void)in.read();
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
        while (std::chrono::steady_clock::now() < until) {
        }
        ++(*read)[own];
    }
};

struct Alone {
    Machine machine{{.targets = 0}};
    std::vector<int> read;
    Alone(const StreamOptions& options, int n) {
        Graph graph;
        auto& source = graph.add<Numbers>("source", {}, n);
        auto& copies = graph.add<Longer>("copies", {.copies = 3}, &read);
        graph.connect(source.out, copies.in, options);
        graph.start(machine).finish();
    }
};

}  // namespace

// Its memory is in the thread's cache.
TEST(Policies, of_copies_that_are_as_idle_each_thread_writes_to_its_own) {
    const Alone alone({}, 100);
    EXPECT_EQ(*std::ranges::max_element(alone.read), 100);
}

TEST(Policies, where_buffers_are_dropped_all_copies_have_their_turn) {
    const Alone alone({.capacity = 1, .when_full = WhenStreamFull::drop_oldest}, 99);
    for (const int read : alone.read) EXPECT_GE(read, 1);
}
