// Automatic numbers of copies follow the pressure.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "stream/parts.hpp"

using namespace penstock;
using namespace std::chrono_literals;
using parts::Collect;

namespace {

std::atomic<int> firing{0};       // copies of Rest that fire now
std::atomic<int> most_firing{0};  // at once, since somebody set it to 0

/// Gives numbers until it is told to end: as fast as the stream takes them, or one in a while.
struct Faucet {
    Output<int> out{"out"};
    std::atomic<bool> slow{false};
    std::atomic<bool> ends{false};
    std::atomic<int> given{0};
    bool operator()() {
        if (ends) return false;
        if (slow) std::this_thread::sleep_for(2ms);
        auto buffer = out.make(1);
        buffer.edit()[0] = given.fetch_add(1);
        out.write(std::move(buffer));
        return true;
    }
};

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

FilterStatistics of(const Run& run, const std::string& name) {
    const auto all = run.statistics();
    const auto found =
        std::find_if(all.filters.begin(), all.filters.end(), [&](const auto& each) { return each.name == name; });
    return found == all.filters.end() ? FilterStatistics{} : *found;
}

::testing::AssertionResult comes(const std::function<bool()>& test) {
    for (const auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(5ms))
        if (test()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "not within 60 s";
}

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
