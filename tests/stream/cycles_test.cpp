// Graphs that go round, and what is reported when nothing can go on.
#include <gtest/gtest.h>

#include <string>

#include "stream/parts.hpp"

using namespace penstock;
using parts::Collect;
using parts::Numbers;
using parts::PassOn;

namespace {

/// Adds one until there are ten, then lets the number out.
struct Grow {
    Input<int> fresh{"fresh", {.required = false}}, back{"back", {.required = false}};
    Output<int> again{"again"}, out{"out"};
    void operator()() {
        for (auto* const in : {&back, &fresh})
            if (auto buffer = in->read_if_any()) {
                const int value = ++buffer->edit()[0];
                if (value % 10 == 0) out.write(std::move(*buffer));
                else again.write(std::move(*buffer));
            }
    }
};

/// Begins a cycle by itself.
struct Begin {
    Input<int> in{"in"};
    Output<int> out{"out"};
    int rounds = 0;
    bool begins;
    explicit Begin(bool does) : begins(does) {}
    void start() {
        if (begins) out.write(out.make(1));
    }
    void operator()() {
        auto buffer = in.read();
        if (++rounds < 1'000) out.write(std::move(buffer));
    }
};

std::string stall_of(Run& run) {
    try {
        run.finish();
    } catch (const StreamStalled& stalled) {
        return stalled.what();
    }
    return "";
}

}  // namespace

TEST(Cycles, feedback_ends_when_all_has_ended_that_leads_into_it_and_it_is_empty) {
    for (const int targets : {0, 1, 2}) {
        Machine machine{{.targets = targets}};
        Graph graph;
        auto& source = graph.add<Numbers>("source", {}, 300);
        auto& grow = graph.add<Grow>("grow");
        auto& pass = graph.add<PassOn>("pass");
        auto& sink = graph.add<Collect>("sink");
        graph.connect(source.out, grow.fresh, {.capacity = 1});
        graph.connect(grow.again, pass.in, {.capacity = 400});
        graph.connect(pass.out, grow.back, {.capacity = 400, .feedback = true});
        graph.connect(grow.out, sink.in);
        auto run = graph.start(machine);
        run.finish();
        EXPECT_EQ(sink.got.size(), 300u);
        for (const int value : sink.got) EXPECT_EQ(value % 10, 0);
    }
}

TEST(Cycles, a_token_that_a_filter_begins_with_goes_round) {
    for (int repeat = 0; repeat < 20; ++repeat) {
        Machine machine{{.targets = 2}};
        Graph graph;
        auto& begin = graph.add<Begin>("begin", {}, true);
        auto& pass = graph.add<PassOn>("pass");
        graph.connect(begin.out, pass.in);
        graph.connect(pass.out, begin.in, {.feedback = true});
        auto run = graph.start(machine);
        run.finish();
        EXPECT_EQ(begin.rounds, 1'000);
    }
}

TEST(Cycles, what_a_filter_begins_with_is_not_lost_when_nothing_else_comes) {
    struct Entered : Begin {
        using Begin::Begin;
        Input<int> more{"more", {.required = false}};
    };
    for (int repeat = 0; repeat < 50; ++repeat) {
        Machine machine{{.targets = 2}};
        Graph graph;
        auto& source = graph.add<Numbers>("source", {}, 0);
        auto& begin = graph.add<Entered>("begin", {}, true);
        auto& pass = graph.add<PassOn>("pass");
        graph.connect(source.out, begin.more);
        graph.connect(begin.out, pass.in);
        graph.connect(pass.out, begin.in, {.feedback = true});
        auto run = graph.start(machine);
        run.finish();
        ASSERT_EQ(begin.rounds, 1'000);
    }
}

TEST(Stalls, a_cycle_that_nobody_starts_is_reported) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& begin = graph.add<Begin>("begin", {}, false);
    auto& pass = graph.add<PassOn>("pass");
    graph.connect(begin.out, pass.in);
    graph.connect(pass.out, begin.in, {.feedback = true});
    auto run = graph.start(machine);
    const auto text = stall_of(run);
    EXPECT_NE(text.find("'begin' waits for input: 0 wait at 'in'"), text.npos) << text;
    EXPECT_NE(text.find("'pass' waits for input"), text.npos) << text;
    run.stop();
    EXPECT_TRUE(run.ended());
}

TEST(Stalls, a_reader_that_does_not_read_is_named_and_may_read_then) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& source = graph.add<Numbers>("source", {}, 100);
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(source.out, reader.input, {.capacity = 4});
    auto run = graph.start(machine);
    const auto text = stall_of(run);
    EXPECT_NE(text.find("'reader' is the program's own end, which has not read"), text.npos) << text;
    EXPECT_NE(text.find("'source' waits for room in its output: 1 held back at 'out', read by 'reader.input'"),
              text.npos)
        << text;
    int read = 0;
    while (reader.read()) ++read;
    EXPECT_EQ(read, 100);
    run.finish();
}

TEST(Stalls, a_filter_that_keeps_the_buffers_of_a_bounded_pool_is_named) {
    struct Keep {
        Input<int> in{"in"};
        std::vector<Buffer<int>> kept;
        void operator()() { kept.push_back(in.read()); }
    };
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& source = graph.add<Numbers>("source", {.pool = 3}, 100);
    auto& keep = graph.add<Keep>("keep");
    graph.connect(source.out, keep.in);
    {
        auto run = graph.start(machine);
        const auto text = stall_of(run);
        EXPECT_NE(text.find("'source' waits for a buffer of its own to come back"), text.npos) << text;
    }
    EXPECT_EQ(keep.kept.size(), 3u);
}
