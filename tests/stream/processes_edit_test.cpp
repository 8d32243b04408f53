// Graphs on worker processes that change while they run.
#include <atomic>
#include <random>
#include <thread>

#include "tests/stream/processes_support.hpp"

using namespace penstock;
using namespace processes;

namespace {

/// 0, 1, 2... until the program says that it is enough.
struct Count {
    Output<Value> out{"out"};
    Value* enough;
    Value next = 0;
    explicit Count(Value* end) : enough(end) {}
    auto state() { return std::tie(next); }
    bool operator()() {
        if (std::atomic_ref(*enough).load(std::memory_order_relaxed) != 0) return false;
        auto buffer = out.make(1);
        buffer.edit()[0] = next++;
        out.write(std::move(buffer));
        return true;
    }
};

struct Pass {
    static constexpr bool may_be_copied = true;
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    Value passed = 0;
    auto state() { return std::tie(passed); }
    void operator()() {
        out.write(in.read());
        ++passed;
    }
};

struct Follow : Pass {
    void take_over(Pass& old) { passed = old.passed; }
};

struct Stateless {
    Input<Value> in{"in"};
    Output<Value> out{"out"};
    void operator()() { out.write(in.read()); }
};

struct Heir : Stateless {
    void take_over(Stateless&) {}
};

struct Check {
    Input<Value> in{"in"};
    std::vector<std::uint8_t> seen;
    Value next = 0, out_of_order = 0, twice = 0, count = 0;
    auto state() { return std::tie(seen, next, out_of_order, twice, count); }
    void operator()() {
        const auto number = in.read()[0];
        if (number != next) ++out_of_order;
        next = number + 1;
        if (number >= seen.size()) seen.resize(2 * number + 1);
        if (seen[number] != 0) ++twice;
        seen[number] = 1;
        ++count;
    }
};

struct Line {
    Machine machine{workers(2)};
    SharedArray<Value> enough = machine.array<Value>(1);
    Graph graph;
    Count& count = graph.add<Count>("count", {}, enough.data());
    Pass& pass = graph.add<Pass>("pass");
    Check& check = graph.add<Check>("check");
    Line() {
        graph.connect(count.out, pass.in);
        graph.connect(pass.out, check.in);
    }
    static std::uint64_t fired(const Run& run, const std::string& name) {
        for (const auto& filter : run.statistics().filters)
            if (filter.name == name) return filter.firings;
        return 0;
    }
    static void wait_for_more(const Run& run) {
        for (const auto before = fired(run, "check"); fired(run, "check") < before + 30;) std::this_thread::yield();
    }
    void end(Run& run) {
        std::atomic_ref(enough[0]).store(1);
        run.finish();
        EXPECT_GT(check.count, 0u);
        EXPECT_EQ(check.count, count.next);
        EXPECT_EQ(check.twice, 0u);
        EXPECT_EQ(check.out_of_order, 0u);
    }
};

}  // namespace

TEST(EditsOfFiltersInProcesses, a_successor_takes_over_the_state_of_the_filter_that_it_replaces) {
    SKIP_WITHOUT_PROCESSES();
    for (const auto removal : {Removal::finish, Removal::hand_over}) {
        Line line;
        auto run = line.graph.start(line.machine);
        Line::wait_for_more(run);
        Follow* follow = nullptr;
        run.edit([&](Edit& edit) { follow = &edit.replace<Follow>(line.pass, removal); });
        Line::wait_for_more(run);
        line.end(run);
        EXPECT_EQ(follow->passed, line.count.next);
    }
}

TEST(EditsOfFiltersInProcesses, a_filter_moves_with_its_state) {
    SKIP_WITHOUT_PROCESSES();
    Line line;
    auto run = line.graph.start(line.machine);
    for (int i = 0; i < 6; ++i) {
        Line::wait_for_more(run);
        run.edit([&](Edit& edit) {
            edit.place("check", {i % 2});
            edit.place("count", {i % 2});
        });
    }
    line.end(run);
}

TEST(EditsOfFiltersInProcesses, what_would_lose_a_state_is_refused) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    Graph graph;
    auto& writer = graph.add_writer<Value>("writer");
    auto& stateless = graph.add<Stateless>("stateless", {.targets = {0}});
    auto& sum = graph.add<Sum>("sum");
    graph.connect(writer.output, stateless.in);
    graph.connect(stateless.out, sum.in);
    auto run = graph.start(machine);
    const auto refused = [&](const std::function<void(Edit&)>& edit, const char* part) {
        try {
            run.edit(edit);
            ADD_FAILURE() << "the edit was made";
        } catch (const GraphError& error) {
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        }
    };
    refused([](Edit& edit) { edit.place("stateless", {1}); }, "'stateless' cannot go to another worker process");
    refused([&](Edit& edit) { edit.replace<Heir>(stateless); }, "'stateless' cannot be taken over");
    Value here = 0;
    refused([&](Edit& edit) { edit.add<Count>("more", {}, &here); }, "'more' of type");
    const Value one = 1;
    writer.write(std::span<const Value>(&one, 1));
    run.finish();
    EXPECT_EQ(sum.sum, 1u);
}

TEST(EditsOfFiltersInProcesses, hundreds_at_random_lose_repeat_and_reorder_nothing) {
    SKIP_WITHOUT_PROCESSES();
    const bool longer = std::getenv("PENSTOCK_LONG") != nullptr;
    Line line;
    auto run = line.graph.start(line.machine);
    std::mt19937 random(20261122);
    std::vector<std::string> inserted;
    int made = 0;
    const auto somewhere = [&] {
        return random() % 2 == 0 ? std::vector<int>{} : std::vector<int>{static_cast<int>(random() % 2)};
    };
    for (int i = 0; i < (longer ? 3'000 : 150); ++i) {
        const auto what = random() % 6;
        run.edit([&](Edit& edit) {
            const auto before = inserted.empty() ? std::string("pass") : inserted.back();
            if (what <= 1 && inserted.size() < 4) {
                const auto name = "pass " + std::to_string(made++);
                edit.add<Pass>(name, {.targets = somewhere()});
                edit.disconnect(before + ".out", "check.in");
                edit.connect(before + ".out", name + ".in", {.capacity = 1 + random() % 8});
                edit.connect(name + ".out", "check.in");
                inserted.push_back(name);
            } else if (what == 2 && !inserted.empty()) {
                edit.remove(inserted.back(), random() % 2 == 0 ? Removal::finish : Removal::hand_over);
                inserted.pop_back();
                edit.connect((inserted.empty() ? std::string("pass") : inserted.back()) + ".out", "check.in");
            } else if (what == 3) {
                edit.place(before, somewhere());
            } else if (what == 4) {
                edit.change(before + ".out", "check.in", {.capacity = 1 + random() % 8});
            } else {
                edit.place("check", somewhere());
            }
        });
    }
    Line::wait_for_more(run);
    line.end(run);
}

TEST(EditsOfFiltersInProcesses, copies_come_and_go_and_every_buffer_arrives_once) {
    SKIP_WITHOUT_PROCESSES();
    Machine machine(workers(2));
    auto enough = machine.array<Value>(1);
    Graph graph;
    auto& count = graph.add<Count>("count", {}, enough.data());
    auto& pass = graph.add<Pass>("pass", {.copies = 2});
    auto& check = graph.add<Check>("check");
    graph.connect(count.out, pass.in);
    graph.connect(pass.out, check.in, {.ordered = true});
    auto run = graph.start(machine);
    std::mt19937 random(7);
    for (int i = 0; i < 60; ++i) run.edit([&](Edit& edit) { edit.copies("pass", 2 + static_cast<int>(random() % 4)); });
    std::atomic_ref(enough[0]).store(1);
    run.finish();
    EXPECT_EQ(check.count, count.next);
    EXPECT_EQ(check.out_of_order, 0u);
    EXPECT_EQ(check.twice, 0u);
}
