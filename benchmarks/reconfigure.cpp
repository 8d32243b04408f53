// What an edit of a running graph costs: from the request to the first firing of the new filter, and how long filters
// pause meanwhile that the edit touches, and that it does not.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "harness/floors.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "penstock/edit.hpp"
#include "penstock/graph.hpp"
#include "penstock/machine.hpp"
#include "penstock/run.hpp"

namespace {

using bench::Direction;
using namespace penstock;

double microseconds(bench::Clock::duration duration) {
    return std::chrono::duration<double, std::micro>(duration).count();
}

constexpr auto service = std::chrono::microseconds(5);

void work() {
    const auto until = bench::Clock::now() + service;
    while (bench::Clock::now() < until) {
    }
}

/// Looks at the clock for so long. The longest time between two looks, which nobody but the host is the cause of:
/// microseconds.
double longest_gap(bench::Clock::duration duration) {
    const auto begin = bench::Clock::now();
    auto last = begin;
    bench::Clock::duration longest{};
    while (last - begin < duration) {
        const auto now = bench::Clock::now();
        longest = std::max(longest, now - last);
        last = now;
    }
    return microseconds(longest);
}

struct Source {
    Output<std::uint64_t> out{"out"};
    std::atomic<bool>* enough;
    std::uint64_t next = 0;
    explicit Source(std::atomic<bool>* end) : enough(end) {}
    bool operator()() {
        auto buffer = out.make(1);
        buffer.edit()[0] = next++;
        out.write(std::move(buffer));
        return !enough->load(std::memory_order_relaxed);
    }
};

/// Works, and notes the longest time from one of its firings to the next, whenever it is asked to begin anew.
struct Stage {
    Input<std::uint64_t> in{"in"};
    Output<std::uint64_t> out{"out"};
    std::atomic<double> longest{0};
    std::atomic<bool> fired{false};
    bench::Clock::time_point last = bench::Clock::now();
    void operator()() {
        work();
        out.write(in.read());
        const auto now = bench::Clock::now();
        longest.store(std::max(longest.load(std::memory_order_relaxed), microseconds(now - last)),
                      std::memory_order_relaxed);
        last = now;
        fired.store(true, std::memory_order_release);
    }
};

struct Check {
    Input<std::uint64_t> in{"in"};
    std::uint64_t next = 0;
    std::uint64_t wrong = 0;
    void operator()() {
        if (in.read()[0] != next++) ++wrong;
    }
};

/// source -> stage -> check, on one target.
struct Line {
    std::atomic<bool> enough{false};
    Source& source;
    Stage& stage;
    Check& check;
    Line(Graph& graph, const std::string& name, const std::vector<int>& targets)
        : source(graph.add<Source>(name + " source", {.targets = targets}, &enough)),
          stage(graph.add<Stage>(name + " stage", {.targets = targets})),
          check(graph.add<Check>(name + " check", {.targets = targets})) {
        graph.connect(source.out, stage.in);
        graph.connect(stage.out, check.in);
    }
};

/// One on which no target runs, if there is: the scheduler may leave two threads on one processor for milliseconds.
int free_processor(const Machine& machine) {
    auto free = bench::allowed_processors();
    for (int target = 0; target < machine.targets() && free.size() > 1; ++target)
        std::erase(free, machine.processor(target));
    return free.front();
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "reconfigure",
        "the time an edit takes, and the pauses of filters that it touches and of those that it does not",
        {"reconfigure/untouched-pause", "reconfigure/lost"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    const int edits = options.quick ? 500 : 10'000;
    // The editing thread has a processor of its own; where that leaves one target, both lines run there.
    Machine machine{{.targets = std::max(1, static_cast<int>(bench::allowed_processors().size()) - 1)}};
    const int other = std::min(1, machine.targets() - 1);
    Graph graph;
    Line touched(graph, "touched", {0});
    Line untouched(graph, "untouched", {other});
    auto run = graph.start(machine);
    const bench::Pinned here(free_processor(machine));
    std::vector<double> request_to_firing, touched_pause, untouched_pause, quiet_pause, host_pause;
    const auto pause_of = [](Stage& stage) { return std::max(0.0, stage.longest.exchange(0) - microseconds(service)); };
    bool inserted = false;
    for (int i = 0; i < edits; ++i) {
        for (Stage* const stage : {&touched.stage, &untouched.stage}) stage->longest = 0;
        host_pause.push_back(longest_gap(std::chrono::microseconds(300)));  // about as long as an edit takes
        quiet_pause.push_back(pause_of(untouched.stage));
        (void)pause_of(touched.stage);
        Stage* added = nullptr;
        const auto begin = bench::Clock::now();
        run.edit([&](Edit& edit) {
            if (inserted) {
                edit.remove("added");
                edit.connect(touched.stage.out, touched.check.in);
            } else {
                added = &edit.add<Stage>("added", {.targets = {0}});
                edit.disconnect(touched.stage.out, touched.check.in);
                edit.connect(touched.stage.out, added->in);
                edit.connect(added->out, touched.check.in);
            }
        });
        inserted = !inserted;
        if (added != nullptr) {
            while (!added->fired.load(std::memory_order_acquire)) {
            }
            request_to_firing.push_back(microseconds(bench::Clock::now() - begin));
        }
        (void)longest_gap(std::chrono::microseconds(50));
        touched_pause.push_back(pause_of(touched.stage));
        untouched_pause.push_back(pause_of(untouched.stage));
    }
    touched.enough = untouched.enough = true;
    run.finish();
    const auto row = [&](const char* name, std::vector<double>& values) {
        std::sort(values.begin(), values.end());
        const auto at = [&](double part) {
            return values[std::min(values.size() - 1,
                                   static_cast<std::size_t>(part * static_cast<double>(values.size())))];
        };
        report.row(name, {{"median_us", at(0.5)}, {"p99_us", at(0.99)}, {"most_us", values.back()}});
        return at(0.99);
    };
    row("request to first firing of the new filter", request_to_firing);
    row("longest pause of a touched filter", touched_pause);
    const double host = row("longest pause of a loop that only reads the clock", host_pause);
    row("longest pause of an untouched filter, without an edit", quiet_pause);
    const double pause = row("longest pause of an untouched filter", untouched_pause);
    report.goal("reconfigure/untouched-pause", {pause, pause, pause}, Direction::at_most, 50);
    const auto lost =
        static_cast<double>(touched.check.wrong + untouched.check.wrong + (touched.source.next - touched.check.next) +
                            (untouched.source.next - untouched.check.next));
    report.goal("reconfigure/lost", {lost, lost, lost}, Direction::at_most, 0);
    report.note("pauses: beyond the filter's own 5 us, around each of " + std::to_string(edits) + " edits, with " +
                std::to_string(machine.targets()) + " targets; beside them those that the host makes in any program: " +
                std::to_string(static_cast<int>(host)) +
                " us at the 99th percentile, below which no pause can be shown");
    return report.finish();
}
