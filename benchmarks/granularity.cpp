// The smallest task that pays: METG(50 %) of Task Bench (Slaughter et al., SC20), written from the paper.
//
// A grid of `width` tasks by `steps`. In the trivial pattern a task reads nothing; in the stencil pattern task (s, i)
// reads the outputs of (s-1, i-1), (s-1, i) and (s-1, i+1). A barrier ends each step. A task computes the paper's
// compute-bound kernel: 64 doubles, each x := x * x + x, a number of times. Efficiency is the serial time over workers
// times time; the granularity of a run is workers times time over tasks; METG(50 %) is the granularity at which
// efficiency falls to 50 % as tasks shrink. At that point half of the granularity is the task itself.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>

#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "peers/openmp.hpp"
#include "peers/ours.hpp"
#include "penstock/dependences.hpp"
#include "penstock/for_each.hpp"
#if defined(PENSTOCK_BENCH_TBB)
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include "peers/onetbb.hpp"
#endif

namespace {

using bench::Contestant;
using bench::Direction;

/// A task's output: who wrote it when, so that its readers can tell that they read the right one.
struct alignas(128) Cell {
    std::int64_t step = 0;
    std::int64_t wrong = 0;  ///< inputs of the wrong step, here and upstream
    double value = 0;
};

double compute(int iterations) {
    std::array<double, 64> data;
    data.fill(0.9);
    asm volatile("" : : "r"(data.data()) : "memory");  // or equal tasks of one step would be computed once
    for (int i = 0; i < iterations; ++i)
        for (double& x : data) x = x * x + x - 0.81;
    return std::accumulate(data.begin(), data.end(), 0.0);
}

void trivial_task(std::span<Cell> out, std::int64_t step, std::int32_t iterations) {
    out[0].value = compute(iterations);
    out[0].step = step;
}

void stencil_task(std::span<const Cell> neighbours, std::span<Cell> out, std::int64_t step, std::int32_t iterations) {
    std::int64_t wrong = 0;
    for (const Cell& cell : neighbours) wrong += cell.wrong + (cell.step != step - 1 ? 1 : 0);
    out[0].value = compute(iterations);
    out[0].wrong = wrong;
    out[0].step = step;
}

/// The outputs of this step and of the last, in turn.
class Grid {
  public:
    Grid(bool stencil, int width)
        : stencil_(stencil), cells_{std::vector<Cell>(size(width)), std::vector<Cell>(size(width))} {}

    bool stencil() const { return stencil_; }
    int width() const { return static_cast<int>(cells_[0].size()); }
    void begin() {
        for (Cell& cell : cells_[0]) cell = {};
    }
    std::span<Cell> out(std::int64_t step, int i) { return {&row(step)[size(i)], 1}; }
    std::span<const Cell> neighbours(std::int64_t step, int i) {
        const int low = std::max(0, i - 1), high = std::min(width() - 1, i + 1);
        return {&row(step - 1)[size(low)], size(high - low + 1)};
    }
    void run_here(std::int64_t step, int i, std::int32_t iterations) {
        if (stencil_) stencil_task(neighbours(step, i), out(step, i), step, iterations);
        else trivial_task(out(step, i), step, iterations);
    }
    /// Throws when a task has read what it should not have read.
    void check(std::int64_t steps) {
        for (const Cell& cell : row(steps))
            if (cell.wrong != 0 || cell.step != steps)
                throw std::runtime_error("granularity: a task read the output of a wrong step");
    }

  private:
    static std::size_t size(int n) { return static_cast<std::size_t>(n); }
    std::vector<Cell>& row(std::int64_t step) { return cells_[static_cast<std::size_t>(step & 1)]; }

    bool stencil_;
    std::array<std::vector<Cell>, 2> cells_;
};

/// How many steps of which size a batch does.
struct Work {
    std::int64_t steps;
    std::int32_t iterations;
};

using Way = void (*)(Grid&, const Work&, penstock::Machine&);

void serially(Grid& grid, const Work& work, penstock::Machine&) {
    for (std::int64_t step = 1; step <= work.steps; ++step)
        for (int i = 0; i < grid.width(); ++i) grid.run_here(step, i, work.iterations);
}

void by_tagged_calls(Grid& grid, const Work& work, penstock::Machine& machine) {
    for (std::int64_t step = 1; step <= work.steps; ++step) {
        for (int i = 0; i < grid.width(); ++i) {
            if (grid.stencil())
                machine.call<stencil_task>(penstock::in(grid.neighbours(step, i)), penstock::out(grid.out(step, i)),
                                           step, work.iterations);
            else machine.call<trivial_task>(penstock::out(grid.out(step, i)), step, work.iterations);
        }
        machine.barrier();
    }
}

void by_loop(Grid& grid, const Work& work, penstock::Machine& machine) {
    const auto iterations = work.iterations;
    for (std::int64_t step = 1; step <= work.steps; ++step)
        machine.for_each(
            static_cast<std::size_t>(grid.width()),
            [&grid, step, iterations](std::size_t i) { grid.run_here(step, static_cast<int>(i), iterations); }, 1);
}

#if defined(_OPENMP)
void by_openmp_for(Grid& grid, const Work& work, penstock::Machine&) {
    bench::bind_openmp_team();
#pragma omp parallel num_threads(bench::openmp_team_size())
    for (std::int64_t step = 1; step <= work.steps; ++step) {
#pragma omp for schedule(static)
        for (int i = 0; i < grid.width(); ++i) grid.run_here(step, i, work.iterations);
    }
}

void by_openmp_tasks(Grid& grid, const Work& work, penstock::Machine&) {
    bench::bind_openmp_team();
#pragma omp parallel num_threads(bench::openmp_team_size())
#pragma omp master
    for (std::int64_t step = 1; step <= work.steps; ++step) {
        for (int i = 0; i < grid.width(); ++i) {
#pragma omp task shared(grid, work) firstprivate(step, i)
            grid.run_here(step, i, work.iterations);
        }
#pragma omp taskwait
    }
}
#endif

#if defined(PENSTOCK_BENCH_TBB)
void by_onetbb_for(Grid& grid, const Work& work, penstock::Machine&) {
    bench::in_onetbb_arena([&] {
        for (std::int64_t step = 1; step <= work.steps; ++step)
            tbb::parallel_for(
                0, grid.width(), [&](int i) { grid.run_here(step, i, work.iterations); }, tbb::simple_partitioner());
    });
}

void by_onetbb_tasks(Grid& grid, const Work& work, penstock::Machine&) {
    bench::in_onetbb_arena([&] {
        tbb::task_group group;
        for (std::int64_t step = 1; step <= work.steps; ++step) {
            for (int i = 0; i < grid.width(); ++i)
                group.run([&grid, &work, step, i] { grid.run_here(step, i, work.iterations); });
            group.wait();
        }
    });
}
#endif

struct NamedWay {
    const char* name;
    Way run;
};

constexpr NamedWay ways[] = {{"serial", serially},
#if defined(_OPENMP)
                             {"openmp-for", by_openmp_for}, {"openmp-task", by_openmp_tasks},
#endif
#if defined(PENSTOCK_BENCH_TBB)
                             {"onetbb-for", by_onetbb_for}, {"onetbb-task", by_onetbb_tasks},
#endif
                             {"penstock", by_tagged_calls}, {"penstock-for", by_loop}};

Contestant contestant(const NamedWay& way, std::shared_ptr<Grid> grid, Work work, penstock::Machine& machine) {
    return {way.name, [=, &machine] {
                const bench::Pinned pinned{bench::allowed_processors().front()};
                grid->begin();
                way.run(*grid, {work.steps / 8 + 1, work.iterations}, machine);
                grid->begin();
                const auto start = bench::Clock::now();
                way.run(*grid, work, machine);
                const double time = bench::nanoseconds_since(start);
                grid->check(work.steps);
                return time / static_cast<double>(work.steps * grid->width());
            }};
}

/// The same grid without barriers, in an order that follows from the tags, recorded outside of what is timed.
Contestant replayed(std::shared_ptr<Grid> grid, Work work, penstock::Dependences& order) {
    const auto recording = std::make_shared<std::unique_ptr<penstock::Recording>>();
    return {"penstock-replay", [=, &order] {
                const bench::Pinned pinned{bench::allowed_processors().front()};
                const auto replay = [&] {
                    grid->begin();
                    const auto start = bench::Clock::now();
                    (*recording)->replay();
                    return bench::nanoseconds_since(start);
                };
                if (*recording == nullptr) {
                    grid->begin();
                    *recording = std::make_unique<penstock::Recording>(order.record([&] {
                        for (std::int64_t step = 1; step <= work.steps; ++step)
                            for (int i = 0; i < grid->width(); ++i)
                                order.call<stencil_task>(penstock::in(grid->neighbours(step, i)),
                                                         penstock::out(grid->out(step, i)), step, work.iterations);
                    }));
                    replay();  // the first measures
                }
                replay();
                const double time = replay();
                grid->check(work.steps);
                return time / static_cast<double>(work.steps * grid->width());
            }};
}

double task_nanoseconds(std::int32_t iterations) {
    constexpr int times = 2000;
    Cell cell;
    const auto start = bench::Clock::now();
    for (int i = 0; i < times; ++i) trivial_task({&cell, 1}, i, iterations);
    return bench::nanoseconds_since(start) / times;
}

/// One size of task: for each round, the time of a task by each way.
struct Measured {
    std::int32_t iterations;
    bench::Result result;
};

/// One size by one way over some rounds.
struct Point {
    double granularity;  ///< ns
    double efficiency;
};

Point point(const Measured& size, const char* way, double workers, const std::vector<std::size_t>& rounds) {
    std::vector<double> granularities, efficiencies;
    for (const auto round : rounds) {
        granularities.push_back(size.result.of(way)[round] * workers);
        efficiencies.push_back(size.result.of("serial")[round] / granularities.back());
    }
    return {bench::median(granularities), bench::median(efficiencies)};
}

/// The smallest granularity at which half the time is work, in us: interpolated between the smallest size that reaches
/// it and the one below, both logarithmic. The smallest seen when all reach it, infinite when none does.
double metg(const std::vector<Measured>& sizes, const char* way, double workers,
            const std::vector<std::size_t>& rounds) {
    Point below{0, 0};
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {  // the smallest task first
        const Point here = point(*size, way, workers, rounds);
        if (here.efficiency >= 0.5) {
            if (below.granularity == 0) return here.granularity / 1000;
            const double part = (0.5 - below.efficiency) / (here.efficiency - below.efficiency);
            return std::exp(std::log(below.granularity) +
                            part * (std::log(here.granularity) - std::log(below.granularity))) /
                   1000;
        }
        below = here;
    }
    return std::numeric_limits<double>::infinity();
}

/// With its interval; over that of another way when one is named.
bench::Interval metg(const std::vector<Measured>& sizes, const char* way, double workers, const char* over = nullptr) {
    constexpr int resamplings = 300;
    return bench::bootstrap(
        sizes.front().result.of(way).size(),
        [&](const std::vector<std::size_t>& rounds) {
            return metg(sizes, way, workers, rounds) / (over == nullptr ? 1 : metg(sizes, over, workers, rounds));
        },
        resamplings);
}

/// Sweeps the size of the tasks downward, reports each, and gives the sizes.
std::vector<Measured> sweep(bool stencil, int width, double workers, penstock::Machine& machine,
                            penstock::Dependences& order, const bench::Options& options, bench::Report& report) {
    const auto grid = std::make_shared<Grid>(stencil, width);
    constexpr std::int32_t largest = 1024;
    const double batch_nanoseconds = options.quick ? 0.5e6 : 1.5e6;
    const double most_steps = options.quick ? 100 : 1000;
    std::vector<Measured> sizes;
    for (double exact = largest; exact >= 1; exact /= options.quick ? 4 : std::sqrt(2.0)) {
        const auto iterations = static_cast<std::int32_t>(std::lround(exact));
        const double steps_of_tasks = batch_nanoseconds / (task_nanoseconds(iterations) * width);
        const auto steps = static_cast<std::int64_t>(std::min(steps_of_tasks, most_steps)) + 20;
        std::vector<Contestant> contestants;
        for (const auto& way : ways) contestants.push_back(contestant(way, grid, {steps, iterations}, machine));
        if (stencil) contestants.push_back(replayed(grid, {steps, iterations}, order));
        sizes.push_back({iterations, bench::measure(contestants, options.plan)});
        const auto& result = sizes.back().result;
        bench::Report::Figures figures{{"task_us", result.median("serial") / 1000}};
        for (const auto& way : result.names())
            figures.emplace_back(way + "_efficiency",
                                 way == "serial" ? 1 : result.ratio("serial", way).usual.value / workers);
        report.row(std::string(stencil ? "stencil" : "trivial") + ", width " + std::to_string(width) + ", " +
                       std::to_string(iterations) + " iterations",
                   figures);
        report.conditions(result);
    }
    return sizes;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{
        "granularity",
        "the smallest task at 50 % efficiency (METG), trivial and stencil, with a barrier a step, and replayed",
        {"granularity/stencil-metg", "granularity/replay-metg", "granularity/stencil-over-openmp",
         "granularity/stencil-over-openmp-for", "granularity/trivial-over-openmp-for"}};
    bench::Options options = bench::parse(argc, argv, about);
    if (!options.quick) options.plan.rounds = 31;
    options.plan.attempts = 2;  // of each size: a sweep has many
    bench::Report report{about, options};
#if defined(PENSTOCK_BENCH_TBB)
    bench::in_onetbb_arena([] {});  // counts the processors that this thread may use now: later it is kept on one
#endif
    const auto machine = bench::make_machine();
    // A machine of its own: where dependent tasks were issued, targets look for ready ones, too, with each look.
    const auto dependent = bench::make_machine();
    penstock::Dependences order(*dependent);
    const int workers = machine->targets() + 1;

    for (const bool stencil : {false, true}) {
        for (const int width : {4 * workers, workers}) {
            const auto sizes = sweep(stencil, width, workers, *machine, order, options, report);
            const std::string pattern =
                std::string(stencil ? "stencil" : "trivial") + ", width " + std::to_string(width);
            for (const auto& way : sizes.front().result.names()) {
                if (way == "serial") continue;
                const auto us = metg(sizes, way.c_str(), workers);
                report.row("METG " + pattern + ": " + way, {{"us", us.value}, {"low", us.low}, {"high", us.high}});
            }
            if (width != workers) {
                const char* const goal =
                    stencil ? "granularity/stencil-over-openmp-for" : "granularity/trivial-over-openmp-for";
#if defined(_OPENMP)
                report.goal(goal, metg(sizes, "openmp-for", workers, "penstock-for"), Direction::at_least, 0.9);
#else
                report.missing(goal, Direction::at_least, 0.9, "OpenMP was not found when this was built");
#endif
            }
            if (!stencil || width != workers) continue;
            report.goal("granularity/stencil-metg", metg(sizes, "penstock", workers), Direction::at_most, 0.45);
            report.goal("granularity/replay-metg", metg(sizes, "penstock-replay", workers), Direction::at_most, 0.3);
#if defined(_OPENMP)
            report.goal("granularity/stencil-over-openmp", metg(sizes, "openmp-task", workers, "penstock"),
                        Direction::at_least, 5);
#else
            report.missing("granularity/stencil-over-openmp", Direction::at_least, 5,
                           "OpenMP was not found when this was built");
#endif
        }
    }
    report.note(
        "METG in us: workers times time over tasks where the efficiency is 50 %; half of it is the task itself");
    report.note("the goals have no near and far: they come from a sweep, whose sizes are measured one after another");
    report.note(
        "calls run in a machine in which nobody has issued dependent tasks, and replays in another: behind "
        "these targets look for ready ones with each look");
    report.note("granularity/stencil-over-openmp is over OpenMP tasks: the other way to say the same program");
    report.note(
        "granularity/stencil-over-openmp-for and trivial-over-openmp-for are a loop over a loop, each with a piece for "
        "each task; until 2026-11-28 they were tagged calls over a loop, whose METG stands beside them");
    return report.finish();
}
