// How graphs end: by themselves, by failures, and when they are stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "stream/parts.hpp"

using namespace penstock;
using parts::Collect;
using parts::Numbers;
using parts::PassOn;

namespace {

/// Throws in each firing, before or after it has read, or in start() or finish().
struct Thrower {
    enum class When { before, after, start, finish };
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    When when;
    explicit Thrower(When moment) : when(moment) {}
    void start() { throw_if(When::start); }
    void operator()() {
        throw_if(When::before);
        auto buffer = in.read();
        throw_if(When::after);
        out.write(std::move(buffer));
    }
    void finish() { throw_if(When::finish); }
    void throw_if(When moment) const {
        if (when == moment) throw std::runtime_error("on purpose");
    }
};

/// Throws or writes nothing for some.
struct Fussy {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    bool before;
    int fired = 0;
    explicit Fussy(bool early) : before(early) {}
    void operator()() {
        if (before && ++fired % 3 == 0) throw std::runtime_error("not this time");
        const auto buffer = in.read();
        if (buffer[0] % 3 == 0) throw std::runtime_error("not this");
        if (buffer[0] % 3 == 1) return;
        auto copy = out.make(1);  // from the pool that turns without a buffer are from, too
        copy.edit()[0] = buffer[0];
        out.write(std::move(copy));
    }
};

struct Idle {
    Input<int> in{"in"};
    void operator()() {}
};

/// Ends by itself after some buffers.
struct Few {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    int left;
    explicit Few(int n) : left(n) {}
    bool operator()() {
        out.write(in.read());
        return --left != 0;
    }
};

struct Either {
    static constexpr bool on_any_input = true;
    Input<int> left{"left"}, right{"right"};
    int sum = 0, buffers = 0;
    void operator()() {
        for (auto* const in : {&left, &right})
            while (auto buffer = in->read_if_any()) sum += (*buffer)[0], ++buffers;
    }
};

struct WithControl {
    Input<int> data{"data"}, control{"control", {.required = false}};
    Output<int> out{"out"};
    int controls = 0;
    void operator()() {
        while (control.read_if_any()) ++controls;
        if (data.waiting() != 0) out.write(data.read());
    }
};

/// Asks for an edit that throws.
struct Wisher {
    Input<int> in{"in"};
    Run** run;
    std::atomic<bool>* asked;
    Wisher(Run** of, std::atomic<bool>* has_asked) : run(of), asked(has_asked) {}
    void operator()() {
        (void)in.read();
        (*run)->edit([has_asked = asked](Edit&) {
            has_asked->store(true);
            throw std::out_of_range("no such wish");
        });
    }
};

/// Calls what the program alone may call, from inside its firing.
struct Meddler {
    Input<int> in{"in"};
    Run** run;
    int refused = 0;
    bool stops;
    Meddler(Run** of, bool stop) : run(of), stops(stop) {}
    void operator()() {
        (void)in.read();
        try {
            (*run)->finish();
        } catch (const UsageError&) {
            ++refused;
        }
        if (stops) (*run)->stop();
        else (*run)->close();
    }
};

struct OnlyOnce {
    static constexpr bool may_be_copied = true;
    Output<int> out{"out"};
    explicit OnlyOnce(int* made) {
        if (++*made == 2) throw std::runtime_error("one is enough");
    }
    bool operator()() { return false; }
};

}  // namespace

TEST(Failures, a_filter_that_throws_in_each_firing_stops_the_run_or_loses_what_it_read) {
    using When = Thrower::When;
    for (const auto when : {When::before, When::after, When::start, When::finish})
        for (const auto on_failure : {OnFailure::stop, OnFailure::go_on})
            for (const int copies : {1, 2}) {
                Machine machine{{.targets = 2}};
                Graph graph;
                auto& source = graph.add<Numbers>("source", {}, 500);
                auto& thrower = graph.add<Thrower>("thrower", {.copies = copies, .on_failure = on_failure}, when);
                auto& sink = graph.add<Collect>("sink");
                graph.connect(source.out, thrower.in, {.capacity = 3});
                graph.connect(thrower.out, sink.in, {.ordered = true});
                auto run = graph.start(machine);
                try {
                    run.finish();
                    FAIL();
                } catch (const FilterFailed& failed) {
                    EXPECT_EQ(failed.filter(), "thrower");
                    EXPECT_NE(std::string(failed.what()).find("on purpose"), std::string::npos);
                    EXPECT_THROW(std::rethrow_exception(failed.cause()), std::runtime_error);
                    if (on_failure == OnFailure::go_on && when <= When::after) {
                        EXPECT_EQ(failed.others(), 499u);
                    }
                }
                run.finish();  // it is said once
                if (on_failure == OnFailure::stop) continue;
                EXPECT_EQ(sink.got, when <= When::after ? std::vector<int>{} : parts::numbers(500));
            }
}

TEST(Failures, a_filter_that_throws_over_a_buffer_from_another_target_gives_it_back) {
    using When = Thrower::When;
    for (const auto when : {When::before, When::after}) {
        Machine machine{{.targets = 2}};
        Graph graph;
        // One buffer at a time: each finds the thrower waiting, and the next one is made of what it gives back.
        auto& source = graph.add<Numbers>("source", {.targets = {0}, .pool = 1}, 500);
        auto& thrower = graph.add<Thrower>("thrower", {.targets = {1}, .on_failure = OnFailure::go_on}, when);
        auto& sink = graph.add<Collect>("sink", {.targets = {0}});
        graph.connect(source.out, thrower.in);
        graph.connect(thrower.out, sink.in);
        auto run = graph.start(machine);
        try {
            run.finish();
            FAIL();
        } catch (const FilterFailed& failed) {
            EXPECT_EQ(failed.others(), 499u);
        }
        const auto statistics = run.statistics();
        EXPECT_EQ(statistics.filters[1].failures, 500u);
        EXPECT_EQ(statistics.filters[1].dropped, when == When::before ? 500u : 0u);
        EXPECT_EQ(statistics.streams[0].buffers, 500u);
        EXPECT_TRUE(sink.got.empty());
    }
}

struct TwoAtOnce {
    Output<int> out{"out"};
    int firings = 0;
    bool operator()() {
        out.write(out.make(1));
        out.write(out.make(1));
        return ++firings != 250;
    }
};

TEST(Failures, each_takes_one_buffer_though_one_came_by_hand_and_another_waits) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& source = graph.add<TwoAtOnce>("source", {.targets = {0}});
    auto& thrower =
        graph.add<Thrower>("thrower", {.targets = {0}, .on_failure = OnFailure::go_on}, Thrower::When::before);
    auto& sink = graph.add<Collect>("sink", {.targets = {0}});
    graph.connect(source.out, thrower.in);
    graph.connect(thrower.out, sink.in);
    auto run = graph.start(machine);
    EXPECT_THROW(run.finish(), FilterFailed);
    const auto statistics = run.statistics();
    EXPECT_EQ(statistics.filters[1].failures, 500u);
    EXPECT_EQ(statistics.filters[1].dropped, 500u);
}

TEST(Failures, copies_that_fail_or_write_nothing_leave_no_gap_in_the_order) {
    for (const bool before : {false, true})
        for (const int copies : {2, 3}) {
            Machine machine{{.targets = 2}};
            Graph graph;
            auto& source = graph.add<Numbers>("source", {}, 3'000);
            auto& fussy = graph.add<Fussy>("fussy", {.copies = copies, .on_failure = OnFailure::go_on}, before);
            auto& sink = graph.add<Collect>("sink");
            graph.connect(source.out, fussy.in, {.capacity = 4});
            graph.connect(fussy.out, sink.in, {.capacity = 2, .ordered = true});
            auto run = graph.start(machine);
            EXPECT_THROW(run.finish(), FilterFailed);
            EXPECT_TRUE(std::is_sorted(sink.got.begin(), sink.got.end()));
            if (!before) EXPECT_EQ(sink.got.size(), 1'000u);  // else it depends on which copy reads what
            for (const int value : sink.got) ASSERT_EQ(value % 3, 2);
        }
}

TEST(Failures, a_filter_that_reads_nothing_is_told_so) {
    for (const auto on_failure : {OnFailure::stop, OnFailure::go_on}) {
        Machine machine{{.targets = 1}};
        Graph graph;
        auto& source = graph.add<Numbers>("source", {}, 100);
        auto& idle = graph.add<Idle>("idle", {.on_failure = on_failure});
        graph.connect(source.out, idle.in);
        auto run = graph.start(machine);
        try {
            run.finish();
            FAIL();
        } catch (const FilterFailed& failed) {
            EXPECT_NE(std::string(failed.what()).find("read none of them"), std::string::npos);
            EXPECT_EQ(failed.others(), on_failure == OnFailure::stop ? 0u : 99u);
        }
    }
}

TEST(Ends, a_copy_that_ends_by_itself_leaves_the_others_and_their_order) {
    Machine machine{{.targets = 2}};
    Graph graph;
    auto& source = graph.add<Numbers>("source", {}, 2'000);
    auto& few = graph.add<Few>("few", {.copies = 3}, 100);
    auto& sink = graph.add<Collect>("sink");
    graph.connect(source.out, few.in, {.capacity = 6});
    graph.connect(few.out, sink.in, {.ordered = true});
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(sink.got.size(), 300u);
    EXPECT_TRUE(std::is_sorted(sink.got.begin(), sink.got.end()));
}

TEST(Ends, any_input_will_do_where_the_filter_says_so) {
    Machine machine{{.targets = 2}};
    Graph graph;
    auto& few = graph.add<Numbers>("few", {}, 10);
    auto& many = graph.add<Numbers>("many", {}, 1'000);
    auto& either = graph.add<Either>("either");
    graph.connect(few.out, either.left);
    graph.connect(many.out, either.right);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(either.buffers, 1'010);
    EXPECT_EQ(either.sum, 45 + 499'500);
}

TEST(Ends, an_optional_input_is_read_when_there_is_something_and_may_stay_open) {
    for (const bool joined : {false, true}) {
        Machine machine{{.targets = 2}};
        Graph graph;
        auto& source = graph.add<Numbers>("source", {}, 500);
        auto& filter = graph.add<WithControl>("filter");
        auto& sink = graph.add<Collect>("sink");
        graph.connect(source.out, filter.data);
        graph.connect(filter.out, sink.in);
        if (joined) graph.connect(graph.add<Numbers>("control", {}, 7).out, filter.control);
        auto run = graph.start(machine);
        run.finish();
        EXPECT_EQ(sink.got, parts::numbers(500));
        if (!joined) {
            EXPECT_EQ(filter.controls, 0);
        }
    }
}

TEST(Ends, a_run_that_is_destroyed_stops_and_the_graph_may_go_before_it) {
    Machine machine{{.targets = 2}};
    for (int repeat = 0; repeat < 20; ++repeat) {
        auto graph = std::make_unique<Graph>();
        auto& source = graph->add<Numbers>("source", {}, 1 << 30);
        auto& sink = graph->add<Collect>("sink");
        graph->connect(source.out, sink.in);
        auto run = std::make_unique<penstock::Run>(graph->start(machine));
        EXPECT_THROW(graph->start(machine), UsageError);
        while (sink.arrived.load() == 0) std::this_thread::yield();
        if (repeat % 2 == 0) graph.reset();
        run.reset();
        if (graph != nullptr) {
            auto again = graph->start(machine);  // nothing of the first run is left in it
            again.stop();
        }
    }
}

TEST(Ends, a_buffer_may_outlive_its_run) {
    Machine machine{{.targets = 1}};
    for (const std::size_t pool : {0, 2}) {
        std::optional<Buffer<int>> last;
        {
            Graph graph;
            auto& source = graph.add<Numbers>("source", {.pool = pool}, 10);
            auto& reader = graph.add_reader<int>("reader");
            graph.connect(source.out, reader.input);
            auto run = graph.start(machine);
            while (auto buffer = reader.read()) last = std::move(buffer);
            run.finish();
        }
        ASSERT_TRUE(last.has_value());
        EXPECT_EQ((*last)[0], 9);
    }
}

TEST(Ends, a_copy_that_cannot_be_made_is_thrown_and_nothing_has_begun) {
    Machine machine{{.targets = 1}};
    Graph graph;
    int made = 0;
    auto& source = graph.add<OnlyOnce>("source", {.copies = 2}, &made);
    auto& sink = graph.add<Collect>("sink");
    graph.connect(source.out, sink.in);
    EXPECT_THROW(graph.start(machine), std::runtime_error);
    auto run = graph.start(machine);  // now they can all be made
    run.finish();
}

TEST(Ends, a_run_that_nobody_finishes_says_what_an_edit_threw) {
    Machine machine{{.targets = 1}};
    Graph graph;
    penstock::Run* of_graph = nullptr;
    std::atomic<bool> asked{false};
    auto& start = graph.add_writer<int>("start");
    auto& wisher = graph.add<Wisher>("wisher", {}, &of_graph, &asked);
    graph.connect(start.output, wisher.in);
    testing::internal::CaptureStderr();
    {
        auto run = graph.start(machine);
        of_graph = &run;
        const int value[] = {1};
        start.write(value);
        while (!asked.load()) std::this_thread::yield();
    }
    EXPECT_NE(testing::internal::GetCapturedStderr().find("no such wish"), std::string::npos);
}

TEST(Ends, a_filter_may_close_or_stop_the_run_and_may_not_wait_for_it) {
    for (const bool stops : {false, true}) {
        Machine machine{{.targets = 2}};
        Graph graph;
        penstock::Run* of_graph = nullptr;
        auto& start = graph.add_writer<int>("start");
        auto& source = graph.add<Numbers>("source", {}, 1 << 30);
        auto& sink = graph.add<Collect>("sink");
        auto& meddler = graph.add<Meddler>("meddler", {}, &of_graph, stops);
        graph.connect(source.out, sink.in);
        graph.connect(start.output, meddler.in);
        auto run = graph.start(machine);
        of_graph = &run;
        const int value[] = {1};
        start.write(value);
        run.finish();
        EXPECT_EQ(meddler.refused, 1);
    }
}

namespace {

struct Finisher {
    Input<int> in{"in"};
    std::atomic<bool> finished = false;
    void operator()() { (void)in.read(); }
    void finish() { finished = true; }
};

}  // namespace

TEST(Ends, a_filter_behind_one_that_failed_does_not_finish) {
    Machine machine{{.targets = 2}};
    for (int round = 0; round < 200; ++round)
        for (const auto when : {Thrower::When::start, Thrower::When::after}) {
            Graph graph;
            auto& numbers = graph.add<Numbers>("numbers", {}, 10);
            auto& thrower = graph.add<Thrower>("thrower", {}, when);
            auto& finisher = graph.add<Finisher>("finisher");
            graph.connect(numbers.out, thrower.in);
            graph.connect(thrower.out, finisher.in);
            auto run = graph.start(machine);
            EXPECT_THROW(run.finish(), FilterFailed);
            ASSERT_FALSE(finisher.finished) << "round " << round;
        }
}
