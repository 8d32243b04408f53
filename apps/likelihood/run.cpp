#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "apps/compare.hpp"
#include "apps/likelihood/app.hpp"
#include "apps/likelihood/sampled.hpp"
#include "apps/likelihood/settings.hpp"
#include "apps/likelihood/ways.hpp"
#include "apps/measure.hpp"
#include "apps/placement.hpp"

namespace penstock::apps::likelihood {
namespace {

/// Evaluations of a timed run: one takes too short a time to tell.
constexpr std::size_t evaluations = 20;

/// Of the progress that is told, where there are samples.
constexpr double share_of_sampler = 0.9;

template <class Real>
RunResult run_in(Machine& machine, Settings settings, const Given& given, const Progress& progress) {
    const Alignment alignment = alignment_of(given, settings);
    const Patterns patterns(alignment);
    const Model model = model_of(given, alignment);
    const Tree tree = tree_of(given, alignment);
    const Order order(tree);
    Likelihood<Real> likelihood(patterns, model.categories);
    likelihood.set_model(model);
    Partials<Real> partials(likelihood.branches(), 1);
    const std::size_t wanted = settings.block_rows;
    Dependent<Real> dependent(likelihood, partials, tree, order, machine, wanted);
    Team team{processors_of(machine)};

    double by_one = 0, by_hand = 0, by_loops = 0, by_order = 0, by_replay = 0, by_itself = 0, by_tasks = 0;
    std::vector<double> alone, sites;
    const auto way = [&](std::string name, double& found, auto evaluate) {
        return Way{std::move(name), [&] { wake(machine); },
                   [&found, evaluate] {
                       return seconds_of([&] {
                           for (std::size_t i = 0; i < evaluations; ++i) found = evaluate();
                       });
                   }};
    };
    const auto one = [](std::size_t n, auto&& body) { body(Range{0, n}); };
    const Way ways[] = {
        {"serial", [] {},
         [&] {
             const double seconds = seconds_of([&] {
                 for (std::size_t i = 0; i < evaluations; ++i) by_one = likelihood.evaluate(tree, order, one);
             });
             alone.assign(likelihood.site_logs().begin(), likelihood.site_logs().end());
             return seconds;
         }},
        {"hand", [] {}, [&] { return hand(likelihood, tree, order, team, evaluations, by_hand); }},
        way("loops", by_loops, [&] { return loops(likelihood, partials, tree, order, machine, wanted); }),
        way("dependent", by_order, [&] { return dependent.evaluate(); }),
        way("replayed", by_replay, [&] { return dependent.replay(); }),
        way("automatic", by_itself, [&] { return automatic(likelihood, tree, order, machine); }),
        way("tagged", by_tasks, [&] { return tagged(likelihood, tree, order, machine, wanted); })};

    RunResult result;
    result.app = "likelihood";
    double done = 0;
    if (const auto sampling = sampling_of(given, settings, static_cast<std::size_t>(team.size()));
        sampling.generations != 0) {
        sample_trees(
            given, sampling, alignment, patterns, tree, model,
            [&](double fraction) {
                if (share_of_sampler * fraction <= done) return;
                done = share_of_sampler * fraction;
                if (progress.done) progress.done(done);
            },
            result);
        done = share_of_sampler;
    }
    result.workers = team.size();
    result.tasks =
        evaluations * equal_ranges(likelihood.blocks(), wanted, static_cast<std::size_t>(team.size())).size();
    result.timings = measure(ways, settings.repetitions, progress, done);
    sites.assign(likelihood.site_logs().begin(), likelihood.site_logs().end());
    const auto same = [&](const char* name, double found) {
        result.checks.push_back(
            same_bits<double>(std::string("results of ") + name + " that differ", {&found, 1}, {&by_one, 1}, "serial"));
    };
    same("hand", by_hand);
    same("loops", by_loops);
    same("dependent", by_order);
    same("replayed", by_replay);
    same("automatic", by_itself);
    same("tagged", by_tasks);
    result.checks.push_back(same_bits<double>("patterns of tagged that differ", sites, alone, "serial"));
    double sum = 0;
    for (std::size_t i = 0; i < sites.size(); ++i) sum += patterns.weights()[i] * sites[i];
    result.checks.push_back({"log-likelihood over the sum over its patterns", 1, by_tasks / sum, 1e-12, "patterns"});

    const std::pair<std::string, std::string> evaluated[] = {
        {"sequences", std::to_string(alignment.taxa())},
        {"sites", std::to_string(patterns.sites())},
        {"patterns", std::to_string(patterns.count())},
        {"model", std::string(name(model.kind))},
        {"log-likelihood", digits_of(by_tasks)},
        {"one evaluation", digits_of(std::round(result.timing("tagged").median() / evaluations * 1e7) / 10) + " us"}};
    result.findings.insert(result.findings.begin(), std::begin(evaluated), std::end(evaluated));
    if (settings.keep_arrays) {
        std::vector<std::uint8_t> all;
        for (const auto& sequence : alignment.sequences) all.insert(all.end(), sequence.begin(), sequence.end());
        result.arrays = {keep<std::uint8_t>("alignment", {alignment.taxa(), alignment.sites()}, all),
                         keep<double>("weights", {patterns.count()}, patterns.weights().first(patterns.count())),
                         keep<double>("site log-likelihoods", {sites.size()}, sites)};
    }
    settings.inputs.clear();
    settings.rows = alignment.taxa();
    settings.columns = alignment.sites();
    for (const Setting& setting : all_settings()) settings.texts.try_emplace(setting.name, setting.value);
    result.settings = std::move(settings);
    return result;
}

}  // namespace

RunResult run(Machine& machine, const Settings& settings, const Progress& progress) {
    check_settings("likelihood", settings, {"alignment"});
    const Given given(settings);
    if (given.word("precision", {"double", "float"}) == 0) return run_in<double>(machine, settings, given, progress);
    return run_in<float>(machine, settings, given, progress);
}

std::vector<App::Text> texts() {
    std::vector<App::Text> all;
    for (const Setting& setting : all_settings())
        all.push_back({setting.name, setting.meaning + (setting.value.empty() ? "" : " (" + setting.value + ")")});
    return all;
}

}  // namespace penstock::apps::likelihood
