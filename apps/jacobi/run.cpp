// The application for the gallery.
#include <algorithm>
#include <string>
#include <vector>

#include "apps/compare.hpp"
#include "apps/jacobi/jacobi.hpp"
#include "apps/measure.hpp"
#include "apps/random.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::jacobi {
namespace {

constexpr std::size_t default_points = 57'344;
constexpr std::size_t default_sweeps = 100;

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = default_sweeps;
    if (settings.columns == 0) settings.columns = default_points;
    for (const Array& input : settings.inputs)  // the source, which says it exactly, is looked at later
        if (input.name == "start" && input.shape.size() == 1 && input.shape[0] > 2)
            settings.columns = input.shape[0] - 2;
    return settings;
}

/// Each sweep again from its definition, in the order of the definition, without the kernel.
std::vector<float> defined(const Problem& problem, std::size_t sweeps) {
    std::vector<float> line(problem.start.span().begin(), problem.start.span().end());
    for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
        float left = line[0];
        for (std::size_t i = 1; i <= problem.n; ++i) {
            const float here = line[i];
            const float both = left + line[i + 1];
            line[i] = (both + problem.source[i - 1]) * 0.5f;
            left = here;
        }
    }
    return line;
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("jacobi", settings, {"start", "source"});
    const auto* source = given_input<float>("jacobi", settings, "source", {0});
    if (source != nullptr) settings.columns = source->size();
    const std::size_t n = settings.columns, sweeps = settings.rows;
    const auto* start = given_input<float>("jacobi", settings, "start", {n + 2});

    Problem problem{n};
    generate(problem, settings.seed);
    if (start != nullptr) std::ranges::copy(*start, problem.start.data());
    if (source != nullptr) std::ranges::copy(*source, problem.source.data());
    const RankOptions options{
        .ranks = static_cast<int>(std::min<std::size_t>(n, static_cast<std::size_t>(machine.targets()) + 1))};
    std::vector<float> by_one(n + 2), scratch(n + 2);
    std::vector<std::vector<float>> by_ranks(std::size(variants), by_one);
    std::vector<Way> ways{
        {"serial", [] {},
         [&] {
             return seconds_of([&] { serial(problem.start.span(), problem.source.span(), by_one, scratch, sweeps); });
         }}};
    for (const Variant variant : variants)
        ways.push_back({std::string(name(variant)), [&] { std::ranges::fill(problem.result.span(), 0.0f); },
                        [&, variant] {
                            const double seconds = parallel(problem, sweeps, variant, options);
                            std::ranges::copy(problem.result.span(),
                                              by_ranks[static_cast<std::size_t>(variant)].begin());
                            return seconds;
                        }});

    RunResult result;
    result.app = "jacobi";
    result.workers = options.ranks;
    result.tasks = sweeps * static_cast<std::size_t>(options.ranks);
    result.timings = measure(ways, settings.repetitions, progress);
    result.checks = {same_bits<float>("points of serial that differ", by_one, defined(problem, sweeps), "definition")};
    for (const Variant variant : variants)
        result.checks.push_back(same_bits<float>("points of " + std::string(name(variant)) + " that differ",
                                                 by_ranks[static_cast<std::size_t>(variant)], by_one, "serial"));
    if (settings.keep_arrays) {
        result.arrays = {keep<float>("start", {n + 2}, problem.start.span()),
                         keep<float>("source", {n}, problem.source.span()),
                         keep<float>("result", {n + 2}, by_ranks.back())};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::jacobi
