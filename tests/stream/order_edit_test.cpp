// From one copy to several in front of an ordered stream, while it runs.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "stream/parts.hpp"

using namespace penstock;

namespace {

/// Leaves out what can be divided by seven, and takes a little while now and then.
struct Sieve {
    static constexpr bool may_be_copied = true;
    Input<int> in{"in"};
    Output<int> out{"out"};
    void operator()() {
        auto read = in.read();
        if (read[0] % 101 == 0) std::this_thread::yield();  // rarely: beside other work each costs milliseconds
        if (read[0] % 7 != 0) out.write(std::move(read));
    }
};

std::vector<int> sieved(int count) {
    std::vector<int> all;
    for (int i = 0; i < count; ++i)
        if (i % 7 != 0) all.push_back(i);
    return all;
}

}  // namespace

TEST(StreamOrderEdits, a_filter_that_gets_copies_while_it_runs_keeps_the_order_and_every_buffer) {
    constexpr int count = 10'000;
    std::mt19937 random(1);
    for (int round = 0; round < 40; ++round) {
        Machine machine{{.targets = 1 + round % 3}};
        Graph graph;
        auto& numbers = graph.add<parts::Numbers>("numbers", {}, count, 1 + round % 2);
        auto& sieve = graph.add<Sieve>("sieve");
        auto& pass = graph.add<parts::PassOn>("pass", {.copies = round % 4 == 3 ? 2 : 1});
        auto& collect = graph.add<parts::Collect>("collect");
        graph.connect(numbers.out, sieve.in, {.capacity = static_cast<std::size_t>(1 + round % 9)});
        graph.connect(sieve.out, pass.in, {.ordered = round % 4 == 0});
        graph.connect(pass.out, collect.in, {.ordered = true});
        auto run = graph.start(machine);
        const auto copies = 2 + static_cast<int>(random() % 3);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
        try {
            if (round % 4 == 1 || round % 4 == 2) run.edit([&](Edit& edit) { edit.copies("pass", copies); });
            // What `pass` passes on in several copies are numbers that `sieve` passes on from now on.
            if (round % 4 != 2) run.edit([&](Edit& edit) { edit.copies("sieve", copies); });
        } catch (const RunEnded&) {
        }
        run.finish();
        ASSERT_EQ(collect.got, sieved(count)) << "round " << round;
    }
}

TEST(StreamOrderEdits, without_one_writer_it_is_refused) {
    Machine machine{{.targets = 2}};
    Graph graph;
    auto& left = graph.add<parts::Numbers>("left", {}, 1'000'000'000);
    auto& right = graph.add<parts::Numbers>("right", {}, 1'000'000'000);
    auto& pass = graph.add<parts::PassOn>("pass");
    auto& collect = graph.add<parts::Collect>("collect");
    graph.connect(left.out, pass.in);
    graph.connect(right.out, pass.in);
    graph.connect(pass.out, collect.in, {.ordered = true});
    auto run = graph.start(machine);
    try {
        run.edit([](Edit& edit) { edit.copies("pass", 2); });
        ADD_FAILURE() << "was made";
    } catch (const GraphError& error) {
        EXPECT_NE(std::string(error.what()).find("several writers"), std::string::npos) << error.what();
    }
    run.close();
    run.finish();
}
