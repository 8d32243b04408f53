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

Interval median_interval(std::vector<double> values) {
    const double value = median(values);
    if (values.size() < rounds_of_an_interval) return {value, std::nan(""), std::nan("")};
    std::sort(values.begin(), values.end());
    // How many values may be left out at each end: the most for which so few of n coins fall on one side in 2.5 % of
    // all cases at most.
    const auto n = values.size();
    const auto chance_of = [n](std::size_t heads) {
        const auto coins = static_cast<double>(n), those = static_cast<double>(heads);
        return std::exp(std::lgamma(coins + 1) - std::lgamma(those + 1) - std::lgamma(coins - those + 1) -
                        coins * std::log(2.0));
    };
    std::size_t outside = 0;
    for (double sum = chance_of(0) + chance_of(1); sum <= 0.025; sum += chance_of(outside + 1)) ++outside;
    return {value, values[outside], values[n - 1 - outside]};
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
