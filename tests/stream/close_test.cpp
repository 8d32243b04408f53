// Asking sources to end, and edits that meet filters which have ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/stream/parts.hpp"

using namespace penstock;

namespace {

/// Its first firing lasts until it is let go.
struct Slow {
    Output<int> out{"out"};
    std::atomic<bool>* firing;
    std::atomic<bool>* let_go;
    Slow(std::atomic<bool>* begun, std::atomic<bool>* go) : firing(begun), let_go(go) {}
    void operator()() {
        firing->store(true);
        while (!let_go->load()) std::this_thread::yield();
        out.write(out.make(1));
    }
};

/// Writes three buffers for the first that it reads, closes its output, and reads on.
struct Gate {
    Input<int> in{"in"};
    Output<int> out{"out"};
    std::size_t read = 0;
    void operator()() {
        (void)in.read();
        if (read++ != 0) return;
        for (int i = 0; i < 3; ++i) {
            auto buffer = out.make(1);
            buffer.edit()[0] = i;
            out.write(std::move(buffer));
        }
        out.close();
    }
};

}  // namespace

TEST(Close, of_an_output_comes_behind_what_is_held_back_there) {
    for (const bool placed : {false, true})
        for (const bool fuse : {false, true}) {
            Machine machine({.targets = 1});
            const auto where = placed ? std::vector{0} : std::vector<int>{};
            Graph graph;
            auto& source = graph.add<parts::Numbers>("source", {.targets = where}, 100);
            auto& gate = graph.add<Gate>("gate", {.targets = where});
            auto& collect = graph.add<parts::Collect>("collect", {.targets = where});
            graph.connect(source.out, gate.in, {.fuse = fuse});
            graph.connect(gate.out, collect.in, {.capacity = 1, .fuse = fuse});
            auto run = graph.start(machine);
            run.finish();
            EXPECT_EQ(gate.read, 100u);
            EXPECT_EQ(collect.got.size(), 3u);
        }
}

TEST(Close, returns_while_a_source_is_in_a_firing) {
    Machine machine({.targets = 1});
    std::atomic<bool> firing{false}, let_go{false};
    Graph graph;
    auto& slow = graph.add<Slow>("slow", {}, &firing, &let_go);
    auto& collect = graph.add<parts::Collect>("collect");
    graph.connect(slow.out, collect.in);
    auto run = graph.start(machine);
    while (!firing) std::this_thread::yield();
    run.close();
    run.close();
    EXPECT_FALSE(run.ended());
    let_go = true;
    run.finish();
    EXPECT_EQ(collect.got.size(), 1u);  // the firing that it was in, and no more
    run.close();                        // of a run that has ended
}

TEST(Close, sources_that_are_added_behind_it_end_at_once) {
    for (const int targets : {0, 2}) {
        Machine machine({.targets = targets});
        Graph graph;
        auto& writer = graph.add_writer<int>("writer");
        auto& collect = graph.add<parts::Collect>("collect");
        graph.connect(writer.output, collect.in);
        auto run = graph.start(machine);
        run.close();
        int before = -1;
        run.edit([&](Edit& edit) {
            edit.add<parts::Numbers>("endless", {}, -1);
            edit.connect("endless.out", "collect.in");
        });
        writer.write(std::vector<int>{7});
        run.finish();
        for (const auto& each : run.statistics().filters)
            if (each.name == "endless") before = static_cast<int>(each.firings);
        EXPECT_EQ(before, 0);
        EXPECT_EQ(collect.got, std::vector<int>{7});
    }
}

TEST(Edits, may_lead_streams_to_filters_that_have_ended_where_they_say_so) {
    for (const int targets : {0, 2}) {
        Machine machine({.targets = targets});
        Graph graph;
        auto& writer = graph.add_writer<int>("writer");
        auto& pass = graph.add<parts::PassOn>("pass");
        auto& living = graph.add<parts::Collect>("living");
        auto& numbers = graph.add<parts::Numbers>("numbers", {}, 3);
        auto& ended = graph.add<parts::Collect>("ended");
        graph.connect(writer.output, pass.in);
        graph.connect(pass.out, living.in);
        graph.connect(numbers.out, ended.in);
        auto run = graph.start(machine);
        writer.write(std::vector<int>{1});
        // which runs filters where there are no targets
        while (run.report().find("'ended' has ended") == std::string::npos) writer.write(std::vector<int>{1});
        const auto lead = [](Edit& edit) { edit.connect("pass.out", "ended.in"); };
        EXPECT_THROW(run.edit(lead), GraphError);
        run.edit([&](Edit& edit) {
            edit.allow_ended_readers();
            lead(edit);
        });
        for (int i = 0; i < 100; ++i) writer.write(std::vector<int>{2});
        // It was said for one edit, and by that one alone.
        EXPECT_THROW(run.edit([](Edit& edit) {
            edit.add<parts::PassOn>("more"), edit.connect("pass.out", "more.in"), edit.connect("more.out", "ended.in");
        }),
                     GraphError);
        run.finish();
        EXPECT_EQ(ended.got, parts::numbers(3));
        EXPECT_EQ(std::count(living.got.begin(), living.got.end(), 2), 100);
    }
}
