// The application for the gallery.
#include <algorithm>
#include <string>
#include <vector>

#include "apps/fft2d/fft2d.hpp"
#include "apps/measure.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::fft2d {
namespace {

constexpr std::size_t default_order = 256;
constexpr std::size_t checked_coefficients = 16;
constexpr double tolerance = 1e-6;  // of single coefficients; a whole transform of this size is within 2e-7

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = default_order;
    for (const Array& input : settings.inputs)
        if (input.name == "image" && input.shape.size() == 2) settings.rows = input.shape[0];
    settings.columns = settings.rows;
    return settings;
}

Array image_of(const Problem& problem) {
    std::vector<Complex> values;
    for (std::size_t row = 0; row < problem.n; ++row)
        values.insert(values.end(), &problem.image[row * problem.pitch],
                      &problem.image[row * problem.pitch] + problem.n);
    return {"image", {problem.n, problem.n}, std::move(values)};
}

Array transform_of(const Problem& problem, std::span<const Complex> transposed) {
    std::vector<Complex> values(problem.n * problem.n);
    for (std::size_t row = 0; row < problem.n; ++row)
        for (std::size_t column = 0; column < problem.n; ++column)
            values[row * problem.n + column] = transposed[column * problem.pitch + row];
    return {"result", {problem.n, problem.n}, std::move(values)};
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("fft2d", settings, {"image"});
    const std::size_t n = settings.rows;
    const auto* image = given_input<Complex>("fft2d", settings, "image", {n, n});

    Problem problem{n};
    generate(problem, settings.seed);
    if (image != nullptr)
        for (std::size_t row = 0; row < n; ++row)
            std::copy_n(image->data() + row * n, n, &problem.image[row * problem.pitch]);
    const RankOptions options{.ranks = machine.targets() + 1};
    std::vector<Complex> by_one(problem.result.size()), scratch(by_one);
    std::vector<std::vector<Complex>> by_ranks(std::size(variants), by_one);
    static_cast<void>(chosen(problem, options));  // measured before anything is timed

    std::vector<Way> ways{{"serial", [] {}, [&] { return seconds_of([&] { serial(problem, by_one, scratch); }); }}};
    for (const Variant variant : variants)
        ways.push_back({std::string(name(variant)), [&] { std::ranges::fill(problem.result.span(), Complex{}); },
                        [&, variant] {
                            const double seconds = parallel(problem, variant, options);
                            std::ranges::copy(problem.result.span(),
                                              by_ranks[static_cast<std::size_t>(variant)].begin());
                            return seconds;
                        }});

    RunResult result;
    result.app = "fft2d";
    result.workers = options.ranks;
    result.tasks = 2 * n;
    result.timings = measure(ways, settings.repetitions, progress);
    result.checks.push_back(
        {"relative error", 0, relative_error(problem, by_one, checked_coefficients), tolerance, "the sum in float64"});
    for (const Variant variant : variants)
        result.checks.push_back(same_bits<Complex>("coefficients of " + std::string(name(variant)) + " that differ",
                                                   by_ranks[static_cast<std::size_t>(variant)], by_one, "serial"));
    if (settings.keep_arrays) result.arrays = {image_of(problem), transform_of(problem, by_ranks.back())};
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::fft2d
