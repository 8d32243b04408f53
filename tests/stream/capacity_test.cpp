// A capacity that is automatic follows the waiting at both ends.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "sanitizers.hpp"
#include "stream/parts.hpp"

using namespace penstock;
using namespace std::chrono_literals;
using parts::Numbers;

namespace {

/// As fast as the stream takes them.
struct LargeBuffers {
    Output<std::byte> out{"out"};
    std::atomic<bool> ends{false};
    std::uint64_t written = 0;
    bool operator()() {
        out.write(out.make(8 * 1024));
        ++written;
        return !ends;
    }
};
struct ReadsEight {
    Input<int> in{"in", {.at_least = 8}};
    std::vector<int> got;
    void operator()() {
        for (int i = 0; i < 8; ++i) got.push_back(in.read()[0]);
    }
};
struct Slow {
    Input<std::byte> in{"in"};
    std::uint64_t read = 0;
    void operator()() {
        in.read().reset();
        ++read;
        std::this_thread::sleep_for(2ms);  // also where others take the processor of its source, that is the faster one
    }
};

/// Numbers, 32 in each firing, which a stream of eight takes in turns with who reads eight: one thread runs both, so
/// neither keeps up with the other.
struct Turns {
    Graph graph;
    ReadsEight& eights;
    explicit Turns(std::size_t capacity) : eights(graph.add<ReadsEight>("eights", {.targets = {0}})) {
        auto& numbers = graph.add<Numbers>("numbers", {.targets = {0}}, 16'000, 32);
        graph.connect(numbers.out, eights.in, {.capacity = capacity});
    }
};

double capacity_of(const Run& run) { return run.statistics().streams.at(0).capacity; }

}  // namespace

TEST(AutomaticCapacity, grows_where_both_ends_wait_for_one_another_in_turn) {
    if (penstock_tests::sanitized)
        GTEST_SKIP() << "firings are so slow here that one follows the other's each time, and nobody waits";
    Machine machine{{.targets = 1}};
    Turns turns(0);
    auto run = turns.graph.start(machine);
    EXPECT_GE(capacity_of(run), 8);
    run.finish();
    EXPECT_GT(capacity_of(run), 8);
    EXPECT_LE(capacity_of(run), 64);
    EXPECT_EQ(turns.eights.got, parts::numbers(16'000));
}

TEST(AutomaticCapacity, a_capacity_that_was_asked_for_stays) {
    Machine machine{{.targets = 1}};
    Turns turns(8);
    auto run = turns.graph.start(machine);
    run.finish();
    EXPECT_EQ(capacity_of(run), 8);
    EXPECT_EQ(turns.eights.got, parts::numbers(16'000));
}

TEST(AutomaticCapacity, shrinks_where_a_queue_of_large_buffers_never_runs_dry) {
    Machine machine{{.targets = 2, .local_store = 64 * 1024}};
    Graph graph;
    auto& large = graph.add<LargeBuffers>("large", {.targets = {0}});
    auto& slow = graph.add<Slow>("slow", {.targets = {1}});
    graph.connect(large.out, slow.in);
    auto run = graph.start(machine);
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (capacity_of(run) > 2 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(2ms);
    EXPECT_EQ(capacity_of(run), 2);
    large.ends = true;
    run.finish();
    EXPECT_EQ(slow.read, large.written);
}
