// What a stream costs: a buffer that is handed from filter to filter on one target, to another target and back, and
// through chains of filters that do nothing. Beside the bare ring, the exchange of two lines, oneTBB's flow graph, and
// GNU Radio's where it is installed.
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "harness/floors.hpp"
#include "harness/report.hpp"
#include "hop_process.hpp"
#include "peers/flow_graph.hpp"
#include "peers/gnuradio_chain.hpp"
#include "peers/peer.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"
#include "penstock/spmd.hpp"

namespace {

using bench::Contestant;
using bench::Direction;
using penstock::FilterOptions;
using penstock::Graph;
using penstock::Input;
using penstock::Machine;
using penstock::Output;

/// Gives `count` buffers of `bytes`, and says when it began.
struct Source {
    Output<std::byte> out{"out"};
    std::size_t bytes;
    int count;
    bench::Clock::time_point began{};
    Source(std::size_t bytes_each, int buffers) : bytes(bytes_each), count(buffers) {}
    bool operator()() {
        if (count-- == 0) return false;
        if (began == bench::Clock::time_point{}) began = bench::Clock::now();
        out.write(out.make(bytes));
        return true;
    }
};

struct Pass {
    Input<std::byte> in{"in"};
    Output<std::byte> out{"out"};
    void operator()() {
        bench::null_task();
        out.write(in.read());
    }
};

struct Sink {
    Input<std::byte> in{"in"};
    bench::Clock::time_point last{};
    int count;
    explicit Sink(int buffers) : count(buffers) {}
    void operator()() {
        in.read().reset();
        if (--count == 0) last = bench::Clock::now();
    }
};

enum class Fuse : bool { no, yes };

/// `buffers` buffers through a source, `filters` filters and a sink, placed as `place(i)` says. Nanoseconds a buffer.
double chain(Machine& machine, int filters, int buffers, std::size_t bytes, std::size_t pool,
             const std::function<std::vector<int>(int)>& place, Fuse fuse = Fuse::yes) {
    Graph graph;
    auto& source = graph.add<Source>("source", {.targets = place(0), .pool = pool}, bytes, buffers);
    auto* from = &source.out;
    for (int i = 0; i < filters; ++i) {
        auto& pass = graph.add<Pass>("pass " + std::to_string(i), {.targets = place(i + 1)});
        graph.connect(*from, pass.in, {.capacity = 16, .fuse = fuse == Fuse::yes});
        from = &pass.out;
    }
    auto& sink = graph.add<Sink>("sink", {.targets = place(filters + 1)}, buffers);
    graph.connect(*from, sink.in, {.capacity = 16, .fuse = fuse == Fuse::yes});
    auto run = graph.start(machine);
    run.finish();
    return std::chrono::duration<double, std::nano>(sink.last - source.began).count() / buffers;
}

const auto on_one = [](int) { return std::vector<int>{0}; };
const auto anywhere = [](int) { return std::vector<int>{}; };

void on_one_target(bench::Report& report, const bench::Options& options, Machine& machine) {
    constexpr int filters = 32;
    const Contestant fused{"fused", [&] { return chain(machine, filters, 4'000, 64, 0, on_one) / (filters + 1); }};
    const Contestant same{"same target",
                          [&] { return chain(machine, filters, 4'000, 64, 0, on_one, Fuse::no) / (filters + 1); }};
    const auto result = bench::measure({bench::nearest_floors().ring(), fused, same}, options.plan);
    report.rows("hop: ", result);
    report.goal("hop/fused", result.ratio("fused", "ring"), Direction::at_most, 2, bench::Judged::by_interval);
    report.goal("hop/same-target", result.ratio("same target", "ring"), Direction::at_most, 5,
                bench::Judged::by_interval);
}

void to_another_target(bench::Report& report, const bench::Options& options, Machine& machine) {
    const auto there_and_back = [](int i) { return std::vector<int>{i % 2}; };
    std::vector<Contestant> contestants{bench::nearest_floors().two_lines()};
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{64}, std::size_t{4096}, std::size_t{1} << 20})
        contestants.push_back({"other target and back, " + std::to_string(bytes) + " B",
                               [&, bytes] { return chain(machine, 1, 10'000, bytes, 1, there_and_back); }});
    const auto result = bench::measure(contestants, options.plan);
    report.rows("hop: ", result);
    report.goal("hop/other-target", result.ratio("other target and back, 64 B", "F2"), Direction::at_most, 2.5,
                bench::Judged::by_interval);
}

void chains(bench::Report& report, const bench::Options& options, Machine& machine) {
    for (const int filters : {1, 4, 32}) {
        const auto name = std::to_string(filters) + " filters";
        std::vector<Contestant> contestants{bench::nearest_floors().ring()};
        contestants.push_back(
            {"one target, " + name, [&, filters] { return chain(machine, filters, 4'000, 64, 0, on_one); }});
        contestants.push_back(
            {"anywhere, " + name, [&, filters] { return chain(machine, filters, 4'000, 64, 0, anywhere); }});
        contestants.push_back({"one buffer at a time, " + name,
                               [&, filters] { return chain(machine, filters, 2'000, 64, 1, anywhere); }});
        if (auto peer = bench::flow_graph(filters)) {
            contestants.push_back({"oneTBB, " + name, [peer] { return peer->stream(4'000); }});
            contestants.push_back({"oneTBB, one at a time, " + name, [peer] { return peer->one_by_one(2'000); }});
        }
        if (const auto peer = bench::gnuradio_chain(filters))
            contestants.push_back({"GNU Radio, " + name, [peer] { return peer(100'000); }});
        const auto result = bench::measure(contestants, options.plan);
        report.rows("chain: ", result);
        if (filters != 32 || contestants.size() < 6) continue;
        report.goal("hop/over-onetbb", result.ratio("oneTBB, one at a time, " + name, "one buffer at a time, " + name),
                    Direction::at_least, 1, bench::Judged::by_interval);
        report.goal("hop/chain-over-onetbb", result.ratio("oneTBB, " + name, "one target, " + name),
                    Direction::at_least, 2, bench::Judged::by_interval);
    }
}

}  // namespace

int main(int argc, char** argv) {
    penstock::launch();
    const bench::About about{
        "hop",
        "a buffer through a stream on one target, to another, to another process and back, and through chains of "
        "filters",
        {"hop/fused", "hop/same-target", "hop/other-target", "hop/over-onetbb", "hop/chain-over-onetbb"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    Machine machine{{.targets = 2}};
    on_one_target(report, options, machine);
    to_another_target(report, options, machine);
    hop::to_another_process(report, options);
    chains(report, options, machine);
    report.note(
        "fused, same target: a hop of a chain of 32 filters that pass buffers of 64 B on, with `fuse` and without; "
        "chains: a buffer through all of it");
    return report.finish();
}
