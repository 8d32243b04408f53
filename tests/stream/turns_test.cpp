// Whose turn it is where one thread runs filters that have no place.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

using namespace penstock;

namespace {

constexpr std::size_t count = 500;

/// Longer than the firings of which several make a turn.
void take_long() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(5);
    while (std::chrono::steady_clock::now() < end) {
    }
}

struct Ahead {
    std::size_t now = 0, most = 0;
};

struct Source {
    Output<int> out{"out"};
    Ahead* ahead;
    std::size_t left = count;
    explicit Source(Ahead* of) : ahead(of) {}
    bool operator()() {
        take_long();
        ahead->most = std::max(ahead->most, ++ahead->now);
        out.write(out.make(1));
        return --left != 0;
    }
};

struct Join {
    Input<int> a{"a"}, b{"b"};
    Output<int> out{"out"};
    Ahead *of_a, *of_b;
    Join(Ahead* first, Ahead* second) : of_a(first), of_b(second) {}
    void operator()() {
        take_long();
        out.write(a.read());
        (void)b.read();
        --of_a->now, --of_b->now;
    }
};

struct Sink {
    Input<int> in{"in"};
    std::size_t got = 0;
    void operator()() {
        take_long();
        (void)in.read();
        ++got;
    }
};

TEST(TurnsTest, a_source_lets_those_who_have_something_to_do_go_first) {
    Machine machine({.targets = 0});
    Graph graph;
    Ahead of_a, of_b;
    auto& a = graph.add<Source>("a", {}, &of_a);
    auto& b = graph.add<Source>("b", {}, &of_b);
    auto& join = graph.add<Join>("join", {}, &of_a, &of_b);
    auto& sink = graph.add<Sink>("sink");
    graph.connect(a.out, join.a, {.capacity = 64});
    graph.connect(b.out, join.b, {.capacity = 64});
    graph.connect(join.out, sink.in);
    auto run = graph.start(machine);
    run.finish();
    EXPECT_EQ(sink.got, count);
    EXPECT_LE(std::max(of_a.most, of_b.most), 4u);
}

}  // namespace
