// Automatic numbers of copies follow the pressure.
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <set>

#include "stream/pressure_parts.hpp"

using namespace penstock;
using namespace std::chrono_literals;
using parts::Collect;
using pressure::come_and_go;
using pressure::comes;
using pressure::Faucet;
using pressure::of;

namespace {

std::atomic<int> firing{0};       // copies of Rest that fire now
std::atomic<int> most_firing{0};  // at once, since somebody set it to 0

/// Takes its time without a processor, so that copies help on any machine.
struct Rest {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        const int now = firing.fetch_add(1) + 1;
        for (int most = most_firing; now > most && !most_firing.compare_exchange_weak(most, now);) {
        }
        auto buffer = in.read();
        std::this_thread::sleep_for(200us);
        firing.fetch_sub(1);
        out.write(std::move(buffer));
    }
};

}  // namespace

TEST(Pressure, copies_come_under_load_and_go_when_there_is_little_to_do) {
    for (const bool ordered : {true, false}) {
        Machine machine{{.targets = 3}};
        Graph graph;
        auto& faucet = graph.add<Faucet>("faucet");
        auto& rest = graph.add<Rest>("rest", {.copies = FilterOptions::automatic});
        auto& collect = graph.add<Collect>("collect");
        graph.connect(faucet.out, rest.in);
        graph.connect(rest.out, collect.in, {.ordered = ordered});
        faucet.slow = true;
        auto run = graph.start(machine);
        EXPECT_EQ(of(run, "rest").copies, 4) << "it begins with one for each target and one more";
        for (int round = 0; round < 2; ++round) {
            faucet.slow = true;
            EXPECT_TRUE(comes([&] { return of(run, "rest").copies == 1; }));
            most_firing = 0;
            faucet.slow = false;
            EXPECT_TRUE(comes([&] { return of(run, "rest").copies >= 3 && most_firing >= 2; }));
        }
        const auto before = of(run, "rest").firings;
        faucet.slow = true;
        EXPECT_TRUE(comes([&] { return of(run, "rest").copies == 1; }));
        EXPECT_GE(of(run, "rest").firings, before) << "what retired copies have done still counts";
        faucet.ends = true;
        run.finish();
        const auto wanted = parts::numbers(faucet.given);
        if (!ordered) std::sort(collect.got.begin(), collect.got.end());
        EXPECT_EQ(collect.got, wanted);
        const auto all = run.statistics();
        EXPECT_EQ(of(run, "rest").firings, wanted.size());
        for (const auto& stream : all.streams) EXPECT_EQ(stream.buffers, wanted.size()) << stream.from;
    }
}

namespace {

/// Has a processor for a millisecond.
struct Busy {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        auto buffer = in.read();
        const auto until = std::chrono::steady_clock::now() + 1ms;
        while (std::chrono::steady_clock::now() < until) {
        }
        out.write(std::move(buffer));
    }
};

}  // namespace

TEST(Pressure, copies_that_do_little_stay_while_all_threads_are_busy) {
    Machine machine{{.targets = 1}};
    Graph graph;
    auto& source = graph.add<parts::Numbers>("source", {}, 400);
    auto& busy = graph.add<Busy>("busy", {.copies = 2});
    auto& little = graph.add<parts::PassOn>("little", {.copies = FilterOptions::automatic});
    auto& collect = graph.add<Collect>("collect");
    graph.connect(source.out, busy.in);
    graph.connect(busy.out, little.in);
    graph.connect(little.out, collect.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(of(run, "little").copies, 2);
    EXPECT_EQ(collect.got.size(), 400u);
}

TEST(Pressure, edits_of_the_program_and_automatic_copies_do_not_disturb_one_another) {
    Machine machine{{.targets = 3}};
    Graph graph;
    auto& faucet = graph.add<Faucet>("faucet");
    auto& rest = graph.add<Rest>("rest", {.copies = FilterOptions::automatic});
    auto& collect = graph.add<Collect>("collect");
    graph.connect(faucet.out, rest.in);
    graph.connect(rest.out, collect.in, {.ordered = true});
    auto run = graph.start(machine);
    for (int edit = 0; edit < 60; ++edit) {
        faucet.slow = edit / 15 % 2 == 1;
        run.edit([&](Edit& change) { change.copies("rest", edit % 3 == 0 ? 2 + edit % 2 : FilterOptions::automatic); });
        std::this_thread::sleep_for(edit % 5 == 0 ? 25ms : 1ms);
    }
    run.edit([](Edit& change) { change.copies("rest", 2); });
    faucet.slow = true;
    std::this_thread::sleep_for(60ms);
    EXPECT_EQ(of(run, "rest").copies, 2) << "a number that the program gives stays";
    faucet.ends = true;
    run.finish();
    EXPECT_EQ(collect.got, parts::numbers(faucet.given));
}

TEST(Pressure, a_filter_whose_buffers_belong_to_certain_copies_keeps_the_number_that_it_begins_with) {
    for (const auto policy : {Policy::by_key, Policy::round_robin, Policy::broadcast}) {
        Machine machine{{.targets = 2}};
        Graph graph;
        auto& faucet = graph.add<Faucet>("faucet");
        auto& rest = graph.add<Rest>("rest", {.copies = FilterOptions::automatic});
        auto& collect = graph.add<Collect>("collect");
        graph.connect(faucet.out, rest.in, {.policy = policy});
        graph.connect(rest.out, collect.in);
        faucet.slow = true;
        auto run = graph.start(machine);
        std::this_thread::sleep_for(150ms);
        EXPECT_EQ(of(run, "rest").copies, 3);
        faucet.ends = true;
        run.finish();
        EXPECT_EQ(collect.got.size(), static_cast<std::size_t>(faucet.given) * (policy == Policy::broadcast ? 3 : 1));
    }
}

namespace {

/// Keeps its thread busy until it is told to end.
struct Hog {
    std::atomic<bool> ends{false};
    bool operator()() {
        std::this_thread::sleep_for(1ms);
        return !ends;
    }
};

/// As Rest, and notes which threads ran it.
struct PlacedRest {
    static constexpr bool may_be_copied = true;
    static inline std::mutex lock;
    static inline std::set<std::thread::id> threads;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        {
            const std::lock_guard guard(lock);
            threads.insert(std::this_thread::get_id());
        }
        auto buffer = in.read();
        std::this_thread::sleep_for(200us);
        out.write(std::move(buffer));
    }
};

}  // namespace

TEST(Pressure, a_placed_filter_has_copies_on_its_own_targets_one_on_each_at_most) {
    enum class Placed { by_number, near, by_class };
    for (const auto placed : {Placed::by_number, Placed::near, Placed::by_class})
        for (const bool ordered : {true, false}) {
            Machine machine{placed == Placed::by_class
                                ? MachineOptions{.classes = {{.name = "these", .targets = 2}, {.name = "those"}}}
                                : MachineOptions{.targets = 3}};
            FilterOptions options{.copies = FilterOptions::automatic};
            if (placed == Placed::by_number) options.targets = {2, 0};
            if (placed == Placed::near) options.near = "anchor";
            if (placed == Placed::by_class) options.target_classes = {"these"};
            PlacedRest::threads.clear();
            Graph graph;
            auto& faucet = graph.add<Faucet>("faucet");
            auto& rest = graph.add<PlacedRest>("rest", options);
            auto& collect = graph.add<Collect>("collect");
            graph.connect(faucet.out, rest.in);
            if (placed == Placed::near) {
                auto& anchor = graph.add<parts::PassOn>("anchor", {.copies = 2, .targets = {0, 1}});
                graph.connect(rest.out, anchor.in);
                graph.connect(anchor.out, collect.in, {.ordered = ordered});
            } else {
                graph.connect(rest.out, collect.in, {.ordered = ordered});
            }
            auto run = graph.start(machine);
            EXPECT_EQ(of(run, "rest").copies, 2);
            come_and_go(run, "rest", {&faucet.slow}, 2);
            faucet.ends = true;
            run.finish();
            if (!ordered) std::ranges::sort(collect.got);
            EXPECT_EQ(collect.got, parts::numbers(faucet.given));
            EXPECT_EQ(of(run, "rest").copies, 1);
            EXPECT_EQ(PlacedRest::threads.size(), 2u);
        }
}

TEST(Pressure, a_placed_filter_gets_no_copies_while_its_other_targets_are_busy) {
    Machine machine{{.targets = 3}};
    Graph graph;
    auto& faucet = graph.add<Faucet>("faucet");
    auto& rest = graph.add<PlacedRest>("rest", {.copies = FilterOptions::automatic, .targets = {0, 1}});
    auto& hog = graph.add<Hog>("hog", {.targets = {1}});
    auto& collect = graph.add<Collect>("collect");
    graph.connect(faucet.out, rest.in);
    graph.connect(rest.out, collect.in);
    faucet.slow = true;
    auto run = graph.start(machine);
    EXPECT_TRUE(comes([&] { return of(run, "rest").copies == 1; })) << run.report();
    faucet.slow = false;
    for (int look = 0; look < 40; ++look) {
        EXPECT_EQ(of(run, "rest").copies, 1) << "target 2 has nothing to do, but is none of its own";
        std::this_thread::sleep_for(5ms);
    }
    hog.ends = true;
    EXPECT_TRUE(comes([&] { return of(run, "rest").copies == 2; })) << run.report();
    faucet.ends = true;
    run.finish();
    std::ranges::sort(collect.got);
    EXPECT_EQ(collect.got, parts::numbers(faucet.given));
}

TEST(Pressure, on_targets_of_several_classes_there_is_a_copy_on_each) {
    Machine machine{{.classes = {{.name = "fast", .targets = 1}, {.name = "slow", .targets = 2, .speed = 0.5}}}};
    Graph graph;
    auto& faucet = graph.add<Faucet>("faucet");
    auto& rest = graph.add<Rest>("rest", {.copies = FilterOptions::automatic, .target_classes = {"fast", "slow"}});
    auto& collect = graph.add<Collect>("collect");
    graph.connect(faucet.out, rest.in);
    graph.connect(rest.out, collect.in);
    faucet.slow = true;
    auto run = graph.start(machine);
    std::this_thread::sleep_for(150ms);
    EXPECT_EQ(of(run, "rest").copies, 3);
    faucet.ends = true;
    run.finish();
    std::ranges::sort(collect.got);
    EXPECT_EQ(collect.got, parts::numbers(faucet.given));
}

TEST(Pressure, a_run_that_is_stopped_while_copies_come_and_go_ends) {
    for (int round = 0; round < 10; ++round) {
        Machine machine{{.targets = 3}};
        Graph graph;
        auto& faucet = graph.add<Faucet>("faucet");
        auto& rest = graph.add<Rest>("rest", {.copies = FilterOptions::automatic});
        auto& collect = graph.add<Collect>("collect");
        graph.connect(faucet.out, rest.in);
        graph.connect(rest.out, collect.in, {.ordered = true});
        faucet.slow = round % 2 == 0;
        auto run = graph.start(machine);
        std::this_thread::sleep_for(std::chrono::milliseconds(15 + 6 * round));
        run.stop();
        EXPECT_TRUE(run.ended());
        EXPECT_TRUE(std::is_sorted(collect.got.begin(), collect.got.end()));
    }
}
