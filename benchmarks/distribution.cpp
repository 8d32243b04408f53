// Static against dynamic distribution of uneven tasks: equal shares fixed beforehand, each target in turn, the target
// with the fewest tasks, and whoever is free, over the ideal, which is the work itself shared out evenly.
//
// Tagged Procedure Calls explains by this what it gains over Sequoia, which fixes shares before the program runs
// (section 4.4: PBPI). Where lanes are filled in turn, or the shortest first, the thread that issues does nothing else,
// and the ideal is the work over the targets; where it has a share of its own, or helps, over the targets and one more.
// The issuing thread waits for a slot where a lane is full, as in the paper; deferred: what finds none goes into its
// deque, and it sleeps in the barrier.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/random.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "peers/ours.hpp"
#include "penstock/machine.hpp"

namespace {

using bench::Contestant;
using penstock::Distribution;
using penstock::inout;

constexpr std::uint32_t mean = 2000;  // steps of a task: some three microseconds
constexpr std::size_t count = 2048;

/// So many steps that wait for one another.
void work(std::uint64_t& state, std::uint32_t steps) {
    for (std::uint32_t n = 0; n < steps; ++n) {
        state = state * 6364136223846793005u + 1;
        asm volatile("" : "+r"(state));
    }
}

/// Tasks by their steps, of the same sum in each kind.
struct Kind {
    std::string name;
    std::function<double(std::size_t number, double random)> weight;
};

std::vector<std::uint32_t> steps_of(const Kind& kind) {
    penstock::apps::Random random{1};
    std::vector<double> weights(count);
    for (std::size_t i = 0; i < count; ++i) weights[i] = kind.weight(i, random.real());
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<std::uint32_t> steps(count);
    for (std::size_t i = 0; i < count; ++i)
        steps[i] = static_cast<std::uint32_t>(std::lround(weights[i] / sum * mean * static_cast<double>(count)));
    return steps;
}

struct Tasks {
    std::vector<std::uint32_t> steps;
    std::vector<std::uint64_t> states = std::vector<std::uint64_t>(count), wanted = states;

    explicit Tasks(const Kind& kind) : steps{steps_of(kind)} {
        for (std::size_t i = 0; i < count; ++i) work(wanted[i], steps[i]);
    }
    /// Nanoseconds of body(), which does all tasks.
    template <class Body>
    double timed(Body body) {
        std::ranges::fill(states, 0);
        const bench::Pinned pinned{bench::allowed_processors().front()};
        const auto start = bench::Clock::now();
        body();
        const double taken = bench::nanoseconds_since(start);
        if (states != wanted) throw std::runtime_error("distribution: a task was left out or done twice");
        return taken;
    }
};

/// Equal numbers of tasks that follow one another for each target, and for the caller, who does its own at once.
void in_shares(penstock::Machine& machine, Tasks& tasks) {
    const auto targets = static_cast<std::size_t>(machine.targets()), workers = targets + 1;
    for (std::size_t target = 0; target < targets; ++target)
        for (std::size_t i = target * count / workers; i < (target + 1) * count / workers; ++i)
            machine.on(static_cast<int>(target)).call<work>(inout(tasks.states[i]), tasks.steps[i]);
    for (std::size_t i = targets * count / workers; i < count; ++i) work(tasks.states[i], tasks.steps[i]);
    machine.barrier();
}

void as_the_machine_likes(penstock::Machine& machine, Tasks& tasks) {
    for (std::size_t i = 0; i < count; ++i) machine.call<work>(inout(tasks.states[i]), tasks.steps[i]);
    machine.barrier();
}

void compare(const Kind& kind, const bench::Options& options, bench::Report& report) {
    Tasks tasks{kind};
    const auto waiting = [](Distribution distribution) {
        return bench::make_machine({.distribution = distribution, .when_full = penstock::WhenFull::wait});
    };
    const auto shares = bench::make_machine(), free = bench::make_machine(),
               in_turn = waiting(Distribution::round_robin), least = waiting(Distribution::least_loaded),
               deferred = bench::make_machine({.distribution = Distribution::round_robin});
    const int targets = shares->targets();
    struct Way {
        std::string name;
        int workers;
        std::function<void()> all;
    };
    const Way ways[] = {
        {"static shares", targets + 1, [&] { in_shares(*shares, tasks); }},
        {"round robin", targets, [&] { as_the_machine_likes(*in_turn, tasks); }},
        {"round robin, deferred", targets, [&] { as_the_machine_likes(*deferred, tasks); }},
        {"least loaded", targets, [&] { as_the_machine_likes(*least, tasks); }},
        {"balanced", targets + 1, [&] { as_the_machine_likes(*free, tasks); }},
    };
    std::vector<Contestant> contestants{{"one thread", [&] {
                                             return tasks.timed([&] {
                                                 for (std::size_t i = 0; i < count; ++i)
                                                     work(tasks.states[i], tasks.steps[i]);
                                             });
                                         }}};
    for (const Way& way : ways) contestants.push_back({way.name, [&] { return tasks.timed(way.all); }});
    const auto result = bench::measure(contestants, options.plan);
    report.conditions(result);
    for (const Way& way : ways) {
        const auto over = result.ratio(way.name, "one thread").usual;
        report.row(kind.name + ": " + way.name, {{"workers", static_cast<double>(way.workers)},
                                                 {"us", result.median(way.name) / 1000},
                                                 {"over_ideal", over.value * way.workers},
                                                 {"low", over.low * way.workers},
                                                 {"high", over.high * way.workers}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "distribution",
        "uneven tasks in static shares, in turn, to the least loaded target and to whoever is free, over the ideal",
        {}};
    bench::Options options = bench::parse(argc, argv, about);
    options.plan.rounds = options.quick ? 7 : 31;
    bench::Report report{about, options};
    const Kind kinds[] = {
        {"equal tasks", [](std::size_t, double) { return 1.0; }},
        {"random tasks", [](std::size_t, double random) { return -std::log(1 - random); }},
        {"growing tasks", [](std::size_t number, double) { return static_cast<double>(number + 1); }},
        {"one in 64 is long", [](std::size_t number, double) { return number % 64 == 63 ? 64.0 : 1.0; }},
    };
    for (const Kind& kind : kinds) compare(kind, options, report);
    report.note("2,048 tasks of some three microseconds in the middle; the work of all kinds is the same");
    report.note("the ideal: what one thread takes without a runtime, over the workers");
    return report.finish();
}
