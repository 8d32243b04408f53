#include "harness/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace bench {

double percentile(std::vector<double> values, double p) {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    const double position = p * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::ptrdiff_t>(std::floor(position));
    std::nth_element(values.begin(), values.begin() + below, values.end());
    const double lower = values[static_cast<std::size_t>(below)];
    const double fraction = position - std::floor(position);
    if (fraction == 0.0) return lower;
    const double upper = *std::min_element(values.begin() + below + 1, values.end());
    return lower + fraction * (upper - lower);
}

double median(const std::vector<double>& values) { return percentile(values, 0.5); }

Interval bootstrap(std::size_t rounds, const FigureOfRounds& figure, int resamplings) {
    std::vector<std::size_t> all(rounds);
    std::iota(all.begin(), all.end(), std::size_t{0});
    const double value = figure(all);
    if (rounds < 2) return {value, value, value};
    std::mt19937 random{12345};
    std::uniform_int_distribution<std::size_t> pick{0, rounds - 1};
    std::vector<double> figures;
    std::vector<std::size_t> sample(rounds);
    figures.reserve(static_cast<std::size_t>(resamplings));
    for (int i = 0; i < resamplings; ++i) {
        for (std::size_t& round : sample) round = pick(random);
        figures.push_back(figure(sample));
    }
    return {value, percentile(figures, 0.025), percentile(figures, 0.975)};
}

Interval bootstrap_median(const std::vector<double>& values) {
    std::vector<double> sample;
    return bootstrap(values.size(), [&](const std::vector<std::size_t>& rounds) {
        sample.clear();
        for (const std::size_t round : rounds) sample.push_back(values[round]);
        return median(sample);
    });
}

Interval bootstrap_ratio(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) ratios.push_back(a[i] / b[i]);
    return bootstrap_median(ratios);
}

double moved(const std::vector<double>& values) {
    constexpr std::size_t parts = 5;
    if (values.size() < parts) return 0;
    std::vector<double> medians;
    for (std::size_t part = 0; part < parts; ++part) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(part * values.size() / parts);
        const auto last = values.begin() + static_cast<std::ptrdiff_t>((part + 1) * values.size() / parts);
        medians.push_back(median({first, last}));
    }
    const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
    return *most / *least - 1;
}

}  // namespace bench
