// Edits where they are hardest: of shared streams and orders, with ends of the program's own, by several threads,
// during start and end, and with filters that throw.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "stream/parts.hpp"

using namespace penstock;
using parts::Collect;
using parts::Numbers;
using parts::PassOn;

namespace {

/// 0, 1, 2... until it is told to end.
struct Count {
    Output<int> out{"out"};
    std::atomic<bool>* enough;
    int next = 0;
    explicit Count(std::atomic<bool>* end) : enough(end) {}
    bool operator()() {
        if (enough->load()) return false;
        auto buffer = out.make(1);
        buffer.edit()[0] = next++;
        out.write(std::move(buffer));
        return true;
    }
};

struct Follow {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    bool throws;
    explicit Follow(bool does = false) : throws(does) {}
    void operator()() { out.write(in.read()); }
    void take_over(PassOn&) {
        if (throws) throw std::runtime_error("no thanks");
    }
};

struct Fragile {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    explicit Fragile(int* made) {
        if (++*made == 3) throw std::runtime_error("three are too many");
    }
    void operator()() { (void)in.read(); }
};

void wait_for_more(const Collect& sink) {
    for (const int before = sink.arrived.load(); sink.arrived.load() < before + 50;) std::this_thread::yield();
}

}  // namespace

TEST(EditDefence, who_shares_a_stream_gets_nothing_twice_when_another_is_replaced) {
    for (const auto policy : {Policy::demand_driven, Policy::broadcast}) {
        Machine machine{{.targets = 2}};
        std::atomic<bool> enough{false};
        Graph graph;
        auto& count = graph.add<Count>("count", {}, &enough);
        auto& pass = graph.add<PassOn>("pass");
        auto& behind = graph.add<Collect>("behind");
        auto& beside = graph.add<Collect>("beside");
        const StreamOptions options{.policy = policy, .name = policy == Policy::broadcast ? "to all" : ""};
        graph.connect(count.out, pass.in, options);
        graph.connect(count.out, beside.in, options);
        graph.connect(pass.out, behind.in, {.capacity = 2});
        auto run = graph.start(machine);
        wait_for_more(behind);
        Follow* follow = nullptr;
        run.edit([&](Edit& edit) { follow = &edit.replace<Follow>(pass, Removal::hand_over); });
        for (int i = 0; i < 60; ++i)
            run.edit([&](Edit& edit) {
                follow = &edit.replace<Follow>(*follow, i % 2 == 0 ? Removal::hand_over : Removal::finish);
            });
        wait_for_more(behind);
        enough = true;
        run.finish();
        EXPECT_EQ(beside.got, parts::numbers(count.next));
        EXPECT_EQ(behind.got, parts::numbers(count.next));
    }
}

TEST(EditDefence, copies_that_each_get_everything_come_and_go) {
    Machine machine{{.targets = 2}};
    std::atomic<bool> enough{false};
    Graph graph;
    auto& count = graph.add<Count>("count", {}, &enough);
    auto& pass = graph.add<PassOn>("pass", {.copies = 2});
    auto& beside = graph.add<Collect>("beside");
    auto& sink = graph.add<Collect>("sink");
    graph.connect(count.out, pass.in, {.policy = Policy::broadcast, .name = "to all"});
    graph.connect(count.out, beside.in, {.policy = Policy::broadcast, .name = "to all"});
    graph.connect(pass.out, sink.in);
    auto run = graph.start(machine);
    for (int i = 0; i < 40; ++i) {
        wait_for_more(beside);
        run.edit([&](Edit& edit) { edit.copies("pass", 2 + i % 3); });
    }
    enough = true;
    run.finish();
    EXPECT_EQ(beside.got, parts::numbers(count.next));
    std::vector<int> times(static_cast<std::size_t>(count.next));
    for (const int value : sink.got) ++times[static_cast<std::size_t>(value)];
    for (const int each : times) {
        ASSERT_GE(each, 2);  // the first two copies were there all the time
        ASSERT_LE(each, 4);
    }
}

TEST(EditDefence, copies_in_an_order_may_be_replaced_but_not_its_beginning_or_end) {
    Machine machine{{.targets = 2}};
    std::atomic<bool> enough{false};
    Graph graph;
    auto& count = graph.add<Count>("count", {}, &enough);
    auto& pass = graph.add<PassOn>("pass", {.copies = 3});
    auto& sink = graph.add<Collect>("sink");
    graph.connect(count.out, pass.in);
    graph.connect(pass.out, sink.in, {.ordered = true});
    auto run = graph.start(machine);
    wait_for_more(sink);
    run.edit([&](Edit& edit) { edit.replace<Follow>(pass); });
    wait_for_more(sink);
    EXPECT_THROW(run.edit([&](Edit& edit) { edit.replace<Count>(count, Removal::finish, &enough); }), GraphError);
    EXPECT_THROW(run.edit([&](Edit& edit) { edit.replace<Collect>(sink); }), GraphError);
    EXPECT_THROW(run.edit([&](Edit& edit) {
        auto& more = edit.add<PassOn>("more");
        edit.disconnect("count.out", "pass.in");
        edit.connect("count.out", "more.in");
        edit.connect("more.out", "pass.in");
        (void)more;
    }),
                 GraphError);
    enough = true;
    run.finish();
    EXPECT_EQ(sink.got, parts::numbers(count.next));
}

TEST(EditDefence, a_reader_of_the_program_s_that_does_not_read_meanwhile_hinders_no_edit) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& source = graph.add<Numbers>("source", {}, 200);
    auto& pass = graph.add<PassOn>("pass");
    auto& reader = graph.add_reader<int>("reader");
    graph.connect(source.out, pass.in, {.capacity = 4});
    graph.connect(pass.out, reader.input, {.capacity = 4});
    auto run = graph.start(machine);
    for (int value = 0; value < 5; ++value) {
        EXPECT_EQ((*reader.read())[0], value);
        run.edit([&](Edit& edit) {
            const auto name = "more " + std::to_string(value),
                       before = value == 0 ? std::string("pass") : "more " + std::to_string(value - 1);
            edit.add<PassOn>(name);
            edit.disconnect(before + ".out", "reader.input");
            edit.connect(before + ".out", name + ".in");
            edit.connect(name + ".out", "reader.input");
        });
    }
    for (int left = 4; left >= 0; --left)
        run.edit([&](Edit& edit) {
            edit.remove("more " + std::to_string(left), Removal::finish);
            edit.connect((left == 0 ? std::string("pass") : "more " + std::to_string(left - 1)) + ".out",
                         "reader.input", {.capacity = 4});
        });
    for (int value = 5; value < 200; ++value) ASSERT_EQ((*reader.read())[0], value);
    EXPECT_FALSE(reader.read());
    run.finish();
}

TEST(EditDefence, filters_that_follow_one_another_may_be_removed_and_replaced_in_one_edit) {
    for (int repeat = 0; repeat < 10; ++repeat) {
        Machine machine{{.targets = 2}};
        std::atomic<bool> enough{false};
        Graph graph;
        auto& count = graph.add<Count>("count", {}, &enough);
        auto* before = &count.out;
        for (const char* name : {"a", "b", "c", "d"}) {
            auto& pass = graph.add<PassOn>(name, {.pool = 1});
            graph.connect(*before, pass.in, {.capacity = 8});
            before = &pass.out;
        }
        auto& sink = graph.add<Collect>("sink");
        graph.connect(*before, sink.in, {.capacity = 1});
        auto run = graph.start(machine);
        wait_for_more(sink);
        run.edit([&](Edit& edit) {
            edit.remove("b", Removal::finish);
            edit.remove("d", Removal::finish);
            edit.connect("a.out", "c.in", {.capacity = 1});
            edit.connect("c.out", "sink.in", {.capacity = 1});
        });
        wait_for_more(sink);
        enough = true;
        run.finish();
        EXPECT_EQ(sink.got, parts::numbers(count.next));
    }
}

TEST(EditDefence, what_a_successor_or_a_constructor_throws_leaves_a_run_that_goes_on) {
    Machine machine{{.targets = 2}};
    std::atomic<bool> enough{false};
    Graph graph;
    auto& count = graph.add<Count>("count", {}, &enough);
    auto& pass = graph.add<PassOn>("pass");
    auto& sink = graph.add<Collect>("sink");
    graph.connect(count.out, pass.in);
    graph.connect(pass.out, sink.in);
    auto run = graph.start(machine);
    wait_for_more(sink);
    EXPECT_THROW(run.edit([&](Edit& edit) { edit.replace<Follow>(pass, Removal::hand_over, true); }),
                 std::runtime_error);
    wait_for_more(sink);
    int made = 0;
    EXPECT_THROW(run.edit([&](Edit& edit) {
        edit.connect("count.out", "pass.in");  // exists: refused
    }),
                 GraphError);
    EXPECT_THROW(run.edit([&](Edit& edit) {
        auto& fragile = edit.add<Fragile>("fragile", {.copies = 3}, &made);
        (void)fragile;
        edit.connect("pass.out", "fragile.in");
    }),
                 std::runtime_error);
    wait_for_more(sink);
    run.edit([&](Edit& edit) {
        edit.add<Fragile>("fragile", {.copies = 3}, &made);
        edit.connect("pass.out", "fragile.in");
    });
    wait_for_more(sink);
    enough = true;
    run.finish();
    EXPECT_EQ(sink.got, parts::numbers(count.next));
}

TEST(EditDefence, threads_edit_from_the_start_to_the_end) {
    for (int repeat = 0; repeat < 10; ++repeat) {
        Machine machine{{.targets = 2}};
        Graph graph;
        auto& source = graph.add<Numbers>("source", {}, 20'000);
        auto& pass = graph.add<PassOn>("pass");
        auto& sink = graph.add<Collect>("sink");
        graph.connect(source.out, pass.in);
        graph.connect(pass.out, sink.in);
        auto run = graph.start(machine);
        std::vector<std::thread> threads;
        std::atomic<int> edits{0};
        for (int thread = 0; thread < 3; ++thread)
            threads.emplace_back([&run, &edits, thread] {
                try {
                    for (int i = 0;; ++i) {
                        run.edit([&](Edit& edit) {
                            if (thread == 0)
                                edit.place("pass", i % 2 == 0 ? std::vector<int>{i / 2 % 2} : std::vector<int>{});
                            else if (thread == 1) edit.copies("pass", 1);
                            else edit.change("pass.out", "sink.in", {.capacity = static_cast<std::size_t>(1 + i % 9)});
                        });
                        ++edits;
                        (void)run.report();
                    }
                } catch (const RunEnded&) {
                }
            });
        run.finish();
        for (auto& thread : threads) thread.join();
        EXPECT_EQ(sink.got, parts::numbers(20'000));
    }
}

TEST(EditDefence, a_run_may_be_stopped_during_an_edit) {
    for (int repeat = 0; repeat < 40; ++repeat) {
        Machine machine{{.targets = 2}};
        std::atomic<bool> enough{false};
        Graph graph;
        auto& count = graph.add<Count>("count", {}, &enough);
        auto& pass = graph.add<PassOn>("pass", {.copies = 2});
        auto& sink = graph.add<Collect>("sink");
        graph.connect(count.out, pass.in);
        graph.connect(pass.out, sink.in);
        auto run = graph.start(machine);
        std::thread editor([&] {
            try {
                for (int i = 0;; ++i)
                    run.edit([&](Edit& edit) {
                        edit.copies("pass", 2 + i % 3);
                        if (i % 2 == 0) {
                            edit.add<PassOn>("more");
                            edit.disconnect("pass.out", "sink.in");
                            edit.connect("pass.out", "more.in");
                            edit.connect("more.out", "sink.in");
                        } else {
                            edit.remove("more", Removal::finish);
                            edit.connect("pass.out", "sink.in");
                        }
                    });
            } catch (const UsageError&) {  // ended; or a sink of the edit's has
            }
        });
        while (sink.arrived.load() < repeat * 20) std::this_thread::yield();
        run.stop();
        editor.join();
        EXPECT_TRUE(run.ended());
    }
}

TEST(EditDefence, a_filter_s_edit_in_its_last_firing_is_made_or_finds_the_run_ended) {
    struct Last {
        Input<int> in{"in"};
        penstock::Run** run;
        explicit Last(penstock::Run** of) : run(of) {}
        void operator()() {
            if (in.read()[0] == 99) (*run)->edit([](Edit& edit) { edit.place("last", {0}); });
        }
    };
    for (int repeat = 0; repeat < 20; ++repeat) {
        Machine machine{{.targets = 1}};
        Graph graph;
        penstock::Run* of_graph = nullptr;
        auto& writer = graph.add_writer<int>("writer");
        auto& last = graph.add<Last>("last", {}, &of_graph);
        graph.connect(writer.output, last.in);
        auto run = graph.start(machine);
        of_graph = &run;
        for (int i = 0; i < 100; ++i) writer.write(std::span<const int>(&i, 1));
        run.finish();
    }
}
