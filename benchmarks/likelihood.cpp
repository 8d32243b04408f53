// One likelihood of a tree of 42 sequences under GTR with four categories of rates: on one thread, by hand, by OpenMP,
// by tasks in each of their forms, and by BEAGLE on one thread and on several. Tagged Procedure Calls (section 4.4)
// does not say how large its alignments were.
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "apps/likelihood/made.hpp"
#include "apps/likelihood/ways.hpp"
#include "apps/placement.hpp"
#include "harness/processors.hpp"
#include "harness/report.hpp"
#include "peers/beagle.hpp"
#include "peers/openmp.hpp"
#include "peers/ours.hpp"

namespace {

using bench::Contestant;
using bench::Direction;
using penstock::apps::Range;
using penstock::apps::Team;
using namespace penstock::apps::likelihood;

constexpr std::size_t sequences = 42, small_alignment = 500;

Model model_of_all() {
    Model model;
    model.kind = Kind::gtr;
    model.shares = {0.3, 0.2, 0.2, 0.3};
    model.rates = {1, 3, 0.8, 0.9, 3.5, 1};
    model.alpha = 0.5;
    model.categories = 4;
    return model;
}

/// An alignment that evolved along a tree, as long as it takes to have so many patterns.
struct Problem {
    explicit Problem(std::size_t wanted) : chance{1}, tree{random_tree(sequences, 0.1, chance)}, order{tree} {
        Alignment alignment = evolve(tree, model, 3 * wanted, chance);
        while (Patterns(alignment).count() < wanted) {
            const Alignment more = evolve(tree, model, wanted / 2 + 1, chance);
            for (std::size_t i = 0; i < sequences; ++i)
                alignment.sequences[i].insert(alignment.sequences[i].end(), more.sequences[i].begin(),
                                              more.sequences[i].end());
        }
        std::size_t least = 1, most = alignment.sites();
        while (least < most) {  // the fewest sites that have so many
            const std::size_t middle = (least + most) / 2;
            if (Patterns(first(alignment, middle)).count() < wanted) least = middle + 1;
            else most = middle;
        }
        patterns.emplace(first(alignment, least));
    }
    static Alignment first(Alignment alignment, std::size_t sites) {
        for (auto& sequence : alignment.sequences) sequence.resize(sites);
        return alignment;
    }
    Chance chance;
    Model model = model_of_all();
    Tree tree;
    Order order;
    std::optional<Patterns> patterns;
};

/// Evaluations of a batch. A quarter as many come before, to warm up: one at least.
int evaluations(std::size_t patterns) { return std::max(4, static_cast<int>(4000 / patterns)); }

template <class Evaluate>
Contestant contestant(std::string name, std::size_t patterns, double expected, double tolerance, Evaluate evaluate) {
    return bench::repeated(name, evaluations(patterns), [name, expected, tolerance, evaluate]() mutable {
        const double found = evaluate();
        if (!(std::abs(found - expected) <= tolerance * std::abs(expected)))
            throw std::runtime_error("likelihood: " + name + " gives another one");
    });
}

#if defined(_OPENMP)
/// The same two loops as OpenMP is taught, with static shares.
double by_openmp(Likelihood<double>& likelihood, const Problem& problem, int threads) {
    Branches<double>& of = likelihood.branches();
    const auto branches = static_cast<std::int64_t>(problem.tree.branches());
    const std::size_t blocks = likelihood.blocks();
    std::vector<Step> steps;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static)
        for (std::int64_t i = 0; i < branches; ++i) of.compute(problem.tree, static_cast<Node>(i + 1));
#pragma omp single
        steps = of.plan(problem.tree, problem.order.nodes);
#pragma omp for schedule(static)
        for (int part = 0; part < threads; ++part) {
            const auto at = static_cast<std::size_t>(part), all = static_cast<std::size_t>(threads);
            of.prune(problem.tree, problem.order, steps, Range{at * blocks / all, (at + 1) * blocks / all},
                     likelihood.logs());
        }
    }
    return likelihood.sum();
}
#endif

/// What the goals are judged by.
struct Goals {
    bench::Ratio speedup, over_threads, over_one;
    bool beagle = false;
};

void compare(std::size_t wanted, const bench::Options& options, bench::Report& report, Goals& goals) {
    const Problem problem(wanted);
    const std::size_t patterns = problem.patterns->count();
    constexpr int workers = 2;
    const auto machine = bench::make_machine({.targets = workers - 1});
    Likelihood<double> alone(*problem.patterns, problem.model.categories), shared(*problem.patterns, 4);
    Likelihood<float> with_floats(*problem.patterns, 4);
    alone.set_model(problem.model);
    shared.set_model(problem.model);
    with_floats.set_model(problem.model);
    Partials<double> partials(shared.branches(), 1);
    Dependent<double> dependent(shared, partials, problem.tree, problem.order, *machine, 0);
    Team team{penstock::apps::processors_of(*machine)};
    const double expected = alone.evaluate(problem.tree);
    const auto one = [](std::size_t n, auto&& body) { body(Range{0, n}); };

    std::vector<Contestant> contestants{
        contestant("one thread", patterns, expected, 0,
                   [&, one] { return alone.evaluate(problem.tree, problem.order, one); }),
        contestant("one thread, float", patterns, expected, 1e-6,
                   [&, one] { return with_floats.evaluate(problem.tree, problem.order, one); }),
        contestant("tagged", patterns, expected, 0,
                   [&] { return tagged(shared, problem.tree, problem.order, *machine, 0); }),
        contestant("automatic", patterns, expected, 0,
                   [&] { return automatic(shared, problem.tree, problem.order, *machine); }),
        contestant("tagged, 64 patterns a task", patterns, expected, 0,
                   [&] { return tagged(shared, problem.tree, problem.order, *machine, 64); }),
        {"hand", [&, count = static_cast<std::size_t>(evaluations(patterns))] {
             double found = 0;
             hand(shared, problem.tree, problem.order, team, count / 4 + 1, found);
             const double seconds = hand(shared, problem.tree, problem.order, team, count, found);
             if (found != expected) throw std::runtime_error("likelihood: hand gives another one");
             return seconds * 1e9 / static_cast<double>(count);
         }}};
    if (wanted <= 2000) {
        contestants.push_back(contestant("loops with barriers", patterns, expected, 0, [&] {
            return loops(shared, partials, problem.tree, problem.order, *machine, 0);
        }));
        contestants.push_back(contestant("dependent", patterns, expected, 0, [&] { return dependent.evaluate(); }));
        contestants.push_back(contestant("replayed", patterns, expected, 0, [&] { return dependent.replay(); }));
    }
#if defined(_OPENMP)
    bench::bind_openmp_team();
    contestants.push_back(
        contestant("OpenMP", patterns, expected, 0, [&] { return by_openmp(shared, problem, workers); }));
#endif
#if defined(PENSTOCK_BENCH_BEAGLE)
    bench::Beagle beagle(*problem.patterns, problem.tree, problem.model, 1),
        threaded(*problem.patterns, problem.tree, problem.model, workers);
    contestants.push_back(contestant("BEAGLE", patterns, expected, 1e-9, [&] { return beagle.evaluate(); }));
    contestants.push_back(
        contestant("BEAGLE, 2 threads", patterns, expected, 1e-9, [&] { return threaded.evaluate(); }));
    report.note("BEAGLE says of its code: " + beagle.name() + "; 2 threads: " + threaded.name());
#endif
    bench::Plan plan = options.plan;
    if (!options.quick) plan.rounds = 41;
    const auto result = bench::measure(contestants, plan);
    for (const auto& name : result.names()) {
        const auto over = result.ratio("one thread", name).usual;
        report.row(std::to_string(patterns) + " patterns, " + name, {{"median_us", result.median(name) / 1000},
                                                                     {"speed_up", over.value},
                                                                     {"low", over.low},
                                                                     {"high", over.high}});
    }
    report.conditions(result);
    if (wanted == small_alignment) goals.speedup.add(result.ratio("one thread", "tagged"));
#if defined(PENSTOCK_BENCH_BEAGLE)
    goals.beagle = true;
    goals.over_one.add(result.ratio("BEAGLE", "one thread"));
    goals.over_threads.add(result.ratio("BEAGLE", "tagged"));
    goals.over_threads.add(result.ratio("BEAGLE, 2 threads", "tagged"));
#endif
}

}  // namespace

int main(int argc, char** argv) {
    const bench::About about{"likelihood",
                             "likelihoods of a tree of 42 sequences: one thread, by hand, OpenMP, tasks, and BEAGLE, "
                             "for 200 to 20,000 patterns",
                             {"likelihood/speedup-2", "likelihood/over-beagle-threads", "likelihood/over-beagle-1"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    Goals goals;
    for (const std::size_t patterns : {200, 500, 1000, 2000, 5000, 20'000})
        if (!options.quick || patterns <= 2000) compare(patterns, options, report, goals);
    report.goal("likelihood/speedup-2", goals.speedup, Direction::at_least, 1.6);
    if (goals.beagle) {
        report.goal("likelihood/over-beagle-threads", goals.over_threads, Direction::at_least, 1.2);
        report.goal("likelihood/over-beagle-1", goals.over_one, Direction::at_least, 0.77);
    } else {
        const std::string why = "BEAGLE was not found (install libhmsbeagle-dev)";
        report.missing("likelihood/over-beagle-threads", Direction::at_least, 1.2, why);
        report.missing("likelihood/over-beagle-1", Direction::at_least, 0.77, why);
    }
    report.note(
        "speed_up: over one thread of the same kernels; all results are compared, bit for bit but for BEAGLE's");
    return report.finish();
}
