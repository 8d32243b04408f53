// A hop inside the machine, batch by batch as standard input asks, so that two builds of Penstock can be compared in
// turn: `bench nodes` runs this one, and the one that PENSTOCK_HOP_BEFORE names, which was built against an earlier
// version:
//
//     c++ -std=c++20 -O2 benchmarks/nodes/local_hop.cpp -IOLD/include OLD/build/release/src/libpenstock.a ...
#include <chrono>
#include <cstdio>
#include <string>

#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace {

using namespace penstock;
using Clock = std::chrono::steady_clock;

constexpr int buffers = 4'000;

struct Source {
    Output<std::byte> out{"out"};
    int left = buffers;
    Clock::time_point began{};
    bool operator()() {
        if (left-- == 0) return false;
        if (began == Clock::time_point{}) began = Clock::now();
        out.write(out.make(64));
        return true;
    }
};
struct Pass {
    Input<std::byte> in{"in"};
    Output<std::byte> out{"out"};
    void operator()() { out.write(in.read()); }
};
struct Sink {
    Input<std::byte> in{"in"};
    int left = buffers;
    Clock::time_point last{};
    void operator()() {
        in.read().reset();
        if (--left == 0) last = Clock::now();
    }
};

/// Through so many filters, on one target or on two in turn. Nanoseconds a hop.
double hop(Machine& machine, int filters, int targets) {
    Graph graph;
    int place = 0;
    const auto next = [&] { return FilterOptions{.targets = {place++ % targets}}; };
    auto& source = graph.add<Source>("source", next());
    auto* from = &source.out;
    for (int i = 0; i < filters; ++i) {
        auto& pass = graph.add<Pass>("pass " + std::to_string(i), next());
        graph.connect(*from, pass.in, {.capacity = 16, .fuse = false});
        from = &pass.out;
    }
    auto& sink = graph.add<Sink>("sink", next());
    graph.connect(*from, sink.in, {.capacity = 16, .fuse = false});
    auto run = graph.start(machine);
    run.finish();
    return std::chrono::duration<double, std::nano>(sink.last - source.began).count() / buffers / (filters + 1);
}

}  // namespace

int main() {
    Machine machine{{.targets = 2}};
    for (int what; (what = std::getchar()) != EOF;) {
        std::printf("%.4f\n", what == '2' ? hop(machine, 1, 2) : hop(machine, 32, 1));
        std::fflush(stdout);
    }
}
