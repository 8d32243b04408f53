// Two classes of targets, one four times as fast as the other: how near a filter that may run on both comes to the best
// that they could do together.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "harness/options.hpp"
#include "harness/report.hpp"
#include "harness/statistics.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace {

using namespace penstock;
using bench::Direction;

struct Source {
    Output<std::uint64_t> out{"out"};
    std::uint64_t count, next = 0;
    explicit Source(std::uint64_t n) : count(n) {}
    bool operator()() {
        if (next == count) return false;
        auto buffer = out.make(1);
        buffer.edit()[0] = next++;
        out.write(std::move(buffer));
        return true;
    }
};

/// The same instructions in every firing: about 300 us.
struct Work {
    static constexpr bool may_be_copied = true;
    Input<std::uint64_t> in{"in"};
    Output<std::uint64_t> out{"out"};
    void operator()() {
        auto buffer = in.read();
        std::uint64_t state = buffer[0] + 1;
        for (int i = 0; i < 100'000; ++i) state = state * 6364136223846793005u + 1442695040888963407u;
        buffer.edit()[0] = state;
        out.write(std::move(buffer));
    }
};

struct Sink {
    Input<std::uint64_t> in{"in"};
    std::uint64_t came = 0;
    void operator()() {
        (void)in.read();
        ++came;
    }
};

/// Seconds for so many firings on these classes; nothing may be lost.
double seconds(Machine& machine, const std::vector<std::string>& classes, std::uint64_t count, Policy policy) {
    Graph graph;
    auto& source = graph.add<Source>("source", {}, count);
    auto& work = graph.add<Work>("work", {.copies = FilterOptions::automatic, .target_classes = classes});
    auto& sink = graph.add<Sink>("sink");
    graph.connect(source.out, work.in, {.policy = policy, .capacity = 4});
    graph.connect(work.out, sink.in);
    const auto begin = bench::Clock::now();
    auto run = graph.start(machine);
    run.finish();
    const auto end = bench::Clock::now();
    if (sink.came != count) throw Error("buffers were lost: " + std::to_string(count - sink.came));
    return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{"mixed",
                             "a filter on two classes of targets, beside the best that they could do together",
                             {"mixed/over-ideal"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    Machine machine{{.classes = {{.name = "fast", .targets = 1}, {.name = "slow", .targets = 1, .speed = 0.25}}}};
    const std::uint64_t count = options.quick ? 400 : 2'000;
    std::vector<double> over, in_turn, speeds;
    (void)seconds(machine, {"fast", "slow"}, 100, Policy::demand_driven);
    for (int round = 0; round < (options.quick ? 5 : 15); ++round) {
        // Each class alone, before and behind: what the host does meanwhile concerns all.
        const auto alone = [&](const char* name, std::uint64_t firings) {
            return seconds(machine, {name}, firings, Policy::demand_driven) / static_cast<double>(firings);
        };
        const double fast_before = alone("fast", count / 4), slow_before = alone("slow", count / 16);
        const double together = seconds(machine, {"fast", "slow"}, count, Policy::demand_driven);
        const double turns = seconds(machine, {"fast", "slow"}, count / 4, Policy::round_robin) * 4;
        const double fast = (fast_before + alone("fast", count / 4)) / 2,
                     slow = (slow_before + alone("slow", count / 16)) / 2;
        const double ideal = static_cast<double>(count) / (1 / fast + 1 / slow);
        over.push_back(together / ideal);
        in_turn.push_back(turns / ideal);
        speeds.push_back(slow / fast);
    }
    const auto row = [&](const std::string& name, std::vector<double> values) {
        std::ranges::sort(values);
        report.row(name, {{"median", values[values.size() / 2]}, {"least", values.front()}, {"most", values.back()}});
    };
    row("makespan over the ideal, by measured cost", over);
    const auto figure = bench::median_interval(over);
    row("the same in turn, as a control", in_turn);
    row("firing on the slow class over one on the fast", speeds);
    report.goal("mixed/over-ideal", figure, Direction::at_most, 1.10);
    report.note(
        "ideal: all firings shared so that both classes end at once, by what each takes alone in the same round; " +
        std::to_string(count) + " firings a round; the slow class is emulated");
    return report.finish();
}
