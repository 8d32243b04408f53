#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/colour/colour.hpp"
#include "apps/compare.hpp"
#include "apps/measure.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::colour {
namespace {

constexpr double tolerance = 1e-4;

Settings with_defaults(Settings settings) {
    if (settings.rows == 0) settings.rows = 512;
    if (settings.columns == 0) settings.columns = 1024;
    if (settings.block_rows == 0) settings.block_rows = 128;
    if (settings.block_columns == 0) settings.block_columns = 128;
    return settings;
}

/// Mean and variance by two passes over what the definition gives.
struct Expected {
    std::vector<double> lab;
    std::array<double, 3> mean{}, variance{};

    explicit Expected(const Picture& picture) : lab(picture.rgb.size()) {
        const auto pixels = static_cast<double>(lab.size() / 3);
        for (std::size_t i = 0; i < lab.size(); i += 3) {
            const auto pixel = defined(picture.rgb.data() + i);
            for (std::size_t c = 0; c < 3; ++c) mean[c] += (lab[i + c] = pixel[c]) / pixels;
        }
        for (std::size_t i = 0; i < lab.size(); ++i)
            variance[i % 3] += (lab[i] - mean[i % 3]) * (lab[i] - mean[i % 3]) / pixels;
    }
};

std::vector<double> figures_of(const ChannelStatistics& statistics) {
    std::vector<double> figures(statistics.mean.begin(), statistics.mean.end());
    for (std::size_t c = 0; c < 3; ++c) figures.push_back(statistics.variance(c));
    return figures;
}

std::vector<Check> definition_checks(const Picture& picture, const Buffer<float>& lab,
                                     const ChannelStatistics& statistics) {
    const Expected expected{picture};
    double most = 0, mean = 0, variance = 0;
    for (std::size_t i = 0; i < lab.size(); ++i)
        most = worse(std::abs(expected.lab[i] - static_cast<double>(lab[i])), most);
    for (std::size_t c = 0; c < 3; ++c) {
        mean = worse(std::abs(expected.mean[c] - statistics.mean[c]), mean);
        // Each value is off by at most the tolerance, so the root of a variance is off by at most that, too.
        variance = worse(std::abs(std::sqrt(expected.variance[c]) - std::sqrt(statistics.variance(c))), variance);
    }
    return {{"largest difference of a value", 0, most, tolerance, "definition, float64"},
            {"largest difference of a mean", 0, mean, tolerance, "definition, float64"},
            {"largest difference of a standard deviation", 0, variance, tolerance, "definition, float64"}};
}

}  // namespace

RunResult run(Machine& machine, const Settings& given, const Progress& progress) {
    Settings settings = with_defaults(given);
    check_settings("colour", settings, {"image"});
    const std::size_t rows = settings.rows, columns = settings.columns;
    const Picture picture = picture_of("colour", settings);
    const Tiling tiling{rows, columns, settings.block_rows, settings.block_columns};
    const int processors = machine.targets() + 1;
    Buffer<float> by_one{picture.rgb.size()}, by_tasks{by_one.size()}, by_filters{by_one.size()};
    ChannelStatistics of_one, of_tasks, of_filters;
    const auto way = [&](const char* name, const Buffer<float>& lab, ChannelStatistics& statistics, auto body) {
        const Work work{picture, tiling, {lab.data(), {rows, 3 * columns}}};
        return Way{name, [to = lab.span()] { std::ranges::fill(to, 0.0f); },
                   [work, &statistics, body] { return seconds_of([&] { statistics = body(work); }); }};
    };
    const Way ways[] = {
        way("serial", by_one, of_one, serial),
        way("tagged", by_tasks, of_tasks, [&](const Work& work) { return tagged(work, machine); }),
        way("streamed", by_filters, of_filters, [&](const Work& work) { return streamed(work, machine, processors); })};

    RunResult result;
    result.app = "colour";
    result.workers = processors;
    result.tasks = tiling.count();
    result.timings = measure(ways, settings.repetitions, progress);
    result.checks = definition_checks(picture, by_filters, of_filters);
    result.checks.push_back(same_bits<float>("values of tagged that differ", by_tasks.span(), by_one.span(), "serial"));
    result.checks.push_back(
        same_bits<float>("values of streamed that differ", by_filters.span(), by_one.span(), "serial"));
    result.checks.push_back(
        same_bits<double>("statistics of tagged that differ", figures_of(of_tasks), figures_of(of_one), "serial"));
    result.checks.push_back(
        same_bits<double>("statistics of streamed that differ", figures_of(of_filters), figures_of(of_one), "serial"));
    if (settings.keep_arrays) {
        result.arrays = {keep<std::uint8_t>("image", {rows, columns, 3}, picture.rgb.span()),
                         keep<double>("statistics", {2, 3}, figures_of(of_filters)),
                         keep<float>("result", {rows, columns, 3}, by_filters.span())};
    }
    settings.inputs.clear();
    result.settings = std::move(settings);
    return result;
}

}  // namespace penstock::apps::colour
