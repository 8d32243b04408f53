// Graphs that change while they run: nothing is lost, repeated or reordered, and what is not touched goes on.
#include "penstock/edit.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

using namespace penstock;

namespace {

/// 0, 1, 2... until it is told to end.
struct Count {
    Output<std::uint64_t> out{"out"};
    std::atomic<bool>* enough;
    std::uint64_t next = 0;
    explicit Count(std::atomic<bool>* end) : enough(end) {}
    bool operator()() {
        if (enough->load(std::memory_order_relaxed)) return false;
        auto buffer = out.make(1);
        buffer.edit()[0] = next++;
        out.write(std::move(buffer));
        return true;
    }
};

struct Pass {
    static constexpr bool may_be_copied = true;
    Input<std::uint64_t> in{"in"};
    Output<std::uint64_t> out{"out"};
    std::uint64_t passed = 0;
    void operator()() {
        out.write(in.read());
        ++passed;
    }
};

/// The same, of another type, which goes on counting where its predecessor stopped.
struct Follow {
    static constexpr bool may_be_copied = true;
    Input<std::uint64_t> in{"in"};
    Output<std::uint64_t> out{"out"};
    std::uint64_t passed = 0;
    void operator()() {
        out.write(in.read());
        ++passed;
    }
    void take_over(Pass& old) { passed = old.passed; }
    void take_over(Follow& old) { passed = old.passed; }
};

struct Check {
    Input<std::uint64_t> in{"in"};
    std::vector<bool> seen;
    std::uint64_t next = 0;
    std::uint64_t out_of_order = 0;
    std::uint64_t twice = 0;
    std::uint64_t count = 0;
    std::atomic<std::uint64_t> arrived{0};
    void operator()() {
        const auto number = in.read()[0];
        if (number != next) ++out_of_order;
        next = number + 1;
        if (number >= seen.size()) seen.resize(2 * number + 1);
        if (seen[number]) ++twice;
        seen[number] = true;
        ++count;
        arrived.store(count, std::memory_order_relaxed);
    }
};

/// Has itself replaced.
struct Restless {
    Input<std::uint64_t> in{"in"};
    Output<std::uint64_t> out{"out"};
    Run** run;
    std::uint64_t fired = 0;
    explicit Restless(Run** of) : run(of) {}
    void operator()() {
        out.write(in.read());
        if (++fired == 50) (*run)->edit([this](Edit& edit) { edit.replace<Pass>(*this); });
    }
};

using GraphRun = Run;

struct Line {
    std::atomic<bool> enough{false};
    Graph graph;
    Count& count = graph.add<Count>("count", {}, &enough);
    Pass& pass = graph.add<Pass>("pass");
    Check& check = graph.add<Check>("check");
    Line() {
        graph.connect(count.out, pass.in);
        graph.connect(pass.out, check.in);
    }
    void wait_for_more() const {
        for (const auto before = check.arrived.load(); check.arrived.load() < before + 100;) std::this_thread::yield();
    }
    void expect_all_in_order() const {
        EXPECT_EQ(check.count, count.next);
        EXPECT_EQ(check.twice, 0u);
        EXPECT_EQ(check.out_of_order, 0u);
    }
};

}  // namespace

TEST(Edits, a_filter_is_put_in_between_and_taken_out_again) {
    Machine machine{{.targets = 2}};
    Line line;
    auto run = line.graph.start(machine);
    line.wait_for_more();
    run.edit([&](Edit& edit) {
        auto& more = edit.add<Pass>("more");
        edit.disconnect(line.pass.out, line.check.in);
        edit.connect(line.pass.out, more.in);
        edit.connect(more.out, line.check.in);
    });
    line.wait_for_more();
    run.edit([&](Edit& edit) {
        edit.remove("more");
        edit.connect(line.pass.out, line.check.in);
    });
    line.wait_for_more();
    line.enough = true;
    run.finish();
    line.expect_all_in_order();
}

TEST(Edits, a_successor_takes_over_the_state_of_the_filter_that_it_replaces) {
    for (const auto removal : {Removal::finish, Removal::hand_over}) {
        Machine machine{{.targets = 2}};
        Line line;
        auto run = line.graph.start(machine);
        line.wait_for_more();
        Follow* follow = nullptr;
        run.edit([&](Edit& edit) { follow = &edit.replace<Follow>(line.pass, removal); });
        line.wait_for_more();
        line.enough = true;
        run.finish();
        line.expect_all_in_order();
        EXPECT_EQ(follow->passed, line.count.next);
    }
}

TEST(Edits, what_waits_at_a_filter_that_is_removed_can_be_discarded) {
    Machine machine{{.targets = 1}};
    Line line;
    auto run = line.graph.start(machine);
    line.wait_for_more();
    run.edit([&](Edit& edit) { edit.replace<Follow>(line.pass, Removal::discard); });
    line.wait_for_more();
    line.enough = true;
    run.finish();
    EXPECT_LE(line.check.count, line.count.next);
    EXPECT_GE(line.check.count + 16, line.count.next);
    EXPECT_EQ(line.check.twice, 0u);
}

TEST(Edits, a_wrong_edit_is_refused_whole_and_changes_nothing) {
    Machine machine{{.targets = 1}};
    Line line;
    auto run = line.graph.start(machine);
    try {
        run.edit([&](Edit& edit) {
            edit.add<Pass>("pass");
            edit.remove("nobody");
            edit.connect("pass.out", "check.inn");
            edit.copies("check", 2);
        });
        FAIL() << "the edit was made";
    } catch (const GraphError& error) {
        const std::string text = error.what();
        for (const char* part : {"'pass' is used twice", "no filter 'nobody'", "no input called 'inn'",
                                 "'check' does not say that it may be copied", "nothing leads to input 'pass.in'"})
            EXPECT_NE(text.find(part), text.npos) << part << " is missing in\n" << text;
    }
    line.wait_for_more();
    line.enough = true;
    run.finish();
    line.expect_all_in_order();
    EXPECT_THROW(run.edit([](Edit&) {}), RunEnded);
}

TEST(Edits, a_filter_may_ask_to_be_replaced_itself) {
    Machine machine{{.targets = 2}};
    Graph graph;
    GraphRun* of_graph = nullptr;
    auto& writer = graph.add_writer<std::uint64_t>("writer");
    auto& restless = graph.add<Restless>("restless", {}, &of_graph);
    auto& check = graph.add<Check>("check");
    graph.connect(writer.output, restless.in);
    graph.connect(restless.out, check.in);
    auto run = graph.start(machine);
    of_graph = &run;
    for (std::uint64_t i = 0; i < 5'000; ++i) writer.write(std::span<const std::uint64_t>(&i, 1));
    run.finish();
    EXPECT_EQ(check.count, 5'000u);
    EXPECT_EQ(check.out_of_order, 0u);
}

struct Slow {
    static constexpr bool may_be_copied = true;
    Input<std::uint64_t> in{"in"};
    void operator()() {
        (void)in.read();
        std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
};

TEST(Edits, a_buffer_that_is_handed_back_and_sent_again_is_counted_once) {
    Machine machine{{.targets = 3}};
    std::atomic<bool> enough{false};
    Graph graph;
    auto& count = graph.add<Count>("count", {}, &enough);
    auto& slow = graph.add<Slow>("slow", {.copies = 3});
    graph.connect(count.out, slow.in);
    auto run = graph.start(machine);
    for (int i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(4));  // buffers wait at each
        run.edit([&](Edit& edit) { edit.copies("slow", i % 2 == 0 ? 1 : 3); });
    }
    enough = true;
    run.finish();
    const auto all = run.statistics();
    ASSERT_EQ(all.streams.size(), 1u);
    EXPECT_EQ(all.streams[0].buffers, count.next);
    EXPECT_EQ(all.filters.back().firings, count.next);
}

TEST(Edits, filters_that_follow_one_another_are_taken_out_together) {
    for (const auto removal : {Removal::finish, Removal::hand_over, Removal::discard}) {
        Machine machine{{.targets = 2}};
        std::atomic<bool> enough{false};
        Graph graph;
        auto& count = graph.add<Count>("count", {}, &enough);
        auto& check = graph.add<Check>("check");
        auto* from = &count.out;
        for (const char* name : {"a", "b", "c", "d"}) {
            auto& pass = graph.add<Pass>(name);
            graph.connect(*from, pass.in, {.capacity = 2});
            from = &pass.out;
        }
        graph.connect(*from, check.in, {.capacity = 2});
        auto run = graph.start(machine);
        while (check.arrived.load() < 100) std::this_thread::yield();
        run.edit([&](Edit& edit) {
            edit.remove("a", removal);
            edit.remove("c", removal);
            edit.connect("count.out", "b.in");
            edit.connect("b.out", "d.in");
        });
        enough = true;
        run.finish();
        if (removal != Removal::discard) {
            EXPECT_EQ(check.count, count.next);
            EXPECT_EQ(check.out_of_order, 0u);
        }
        EXPECT_EQ(check.twice, 0u);
    }
}

TEST(Edits, a_program_that_does_not_read_while_it_edits_is_no_hindrance) {
    Machine machine{{.targets = 1}};
    Graph graph;
    std::atomic<bool> enough{false};
    auto& count = graph.add<Count>("count", {}, &enough);
    auto& pass = graph.add<Pass>("pass");
    auto& reader = graph.add_reader<std::uint64_t>("reader");
    graph.connect(count.out, pass.in, {.capacity = 2});
    graph.connect(pass.out, reader.input, {.capacity = 2});
    auto run = graph.start(machine);
    while (run.statistics().filters[0].held_back == 0) std::this_thread::yield();
    run.edit([&](Edit& edit) { edit.replace<Follow>(pass, Removal::finish); });
    enough = true;
    std::uint64_t next = 0;
    while (const auto buffer = reader.read()) EXPECT_EQ((*buffer)[0], next++);
    run.finish();
    EXPECT_EQ(next, count.next);
}

TEST(Edits, thousands_at_random_lose_repeat_and_reorder_nothing) {
    const bool longer = std::getenv("PENSTOCK_LONG") != nullptr;
    Machine machine{{.targets = 2}};
    Line line;
    auto run = line.graph.start(machine);
    std::mt19937 random(20261121);
    std::vector<std::string> inserted;
    int made = 0;
    const auto name_of = [](int number) { return "pass " + std::to_string(number); };
    for (int i = 0; i < (longer ? 10'000 : 600); ++i) {
        const auto what = random() % 6;
        run.edit([&](Edit& edit) {
            const auto before = inserted.empty() ? std::string("pass") : inserted.back();
            if (what <= 1 && inserted.size() < 5) {
                const auto name = name_of(made++);
                FilterOptions options;
                if (random() % 2 == 0) options.targets = {static_cast<int>(random() % 2)};
                edit.add<Pass>(name, options);
                edit.disconnect(before + ".out", "check.in");
                edit.connect(before + ".out", name + ".in", {.capacity = 1 + random() % 8});
                edit.connect(name + ".out", "check.in");
                inserted.push_back(name);
            } else if (what == 2 && !inserted.empty()) {
                const auto removal = random() % 2 == 0 ? Removal::finish : Removal::hand_over;
                edit.remove(inserted.back(), removal);
                inserted.pop_back();
                edit.connect((inserted.empty() ? std::string("pass") : inserted.back()) + ".out", "check.in");
            } else if (what == 3) {
                edit.place(before,
                           random() % 2 == 0 ? std::vector<int>{} : std::vector<int>{static_cast<int>(random() % 2)});
            } else if (what == 4) {
                edit.change(before + ".out", "check.in", {.capacity = 1 + random() % 8});
            } else {
                edit.place("check",
                           random() % 2 == 0 ? std::vector<int>{} : std::vector<int>{static_cast<int>(random() % 2)});
            }
        });
    }
    line.wait_for_more();
    line.enough = true;
    run.finish();
    line.expect_all_in_order();
}

TEST(Edits, copies_come_and_go_and_every_buffer_arrives_once) {
    const bool longer = std::getenv("PENSTOCK_LONG") != nullptr;
    Machine machine{{.targets = 2}};
    std::atomic<bool> enough{false};
    Graph graph;
    auto& count = graph.add<Count>("count", {}, &enough);
    auto& pass = graph.add<Pass>("pass", {.copies = 2});
    auto& check = graph.add<Check>("check");
    graph.connect(count.out, pass.in);
    graph.connect(pass.out, check.in, {.ordered = true});
    auto run = graph.start(machine);
    std::mt19937 random(7);
    for (int i = 0; i < (longer ? 5'000 : 300); ++i)
        run.edit([&](Edit& edit) { edit.copies("pass", 2 + static_cast<int>(random() % 4)); });
    enough = true;
    run.finish();
    EXPECT_EQ(check.count, count.next);
    EXPECT_EQ(check.out_of_order, 0u);
    EXPECT_EQ(check.twice, 0u);
}

// Whoever waits for the end looks for ends of the program's that are over; one that is being wired has no stream yet.
TEST(Edits, a_reader_added_while_another_thread_waits_for_the_end_gets_everything) {
    constexpr int buffers = 20;
    Machine machine({.targets = 1});
    Graph graph;
    std::atomic<bool> enough{false};
    auto& count = graph.add<Count>("count", {}, &enough);
    auto& check = graph.add<Check>("check");
    graph.connect(count.out, check.in, {.capacity = 4});
    auto run = graph.start(machine);
    std::atomic<bool> waits{false};  // finish() closes the writers that there are, and then waits
    run.look_while_waiting([&] { waits = true; });
    std::thread edits([&] {
        while (!waits) std::this_thread::yield();
        for (int i = 0; i < 100 && !run.ended(); ++i) {
            StreamReader<int>* reader = nullptr;
            StreamWriter<int>* writer = nullptr;
            run.edit([&](Edit& edit) {
                writer = &edit.add_writer<int>("writer " + std::to_string(i));
                reader = &edit.add_reader<int>("reader " + std::to_string(i));
                edit.connect(writer->output, reader->input, {.capacity = 1});
            });
            int read = 0;
            std::thread reads([&] {
                while (reader->read()) ++read;
                if (read != buffers) run.stop();  // else the writer would wait for ever
            });
            try {
                for (int j = 0; j < buffers; ++j) writer->write(std::span<const int>(&j, 1));
                writer->close();
            } catch (const Error&) {
            }
            reads.join();
            EXPECT_EQ(read, buffers) << "of edit " << i;
        }
        enough = true;
    });
    run.finish();
    edits.join();
}
