// Medians, percentiles and the bootstrap: what every figure of the benchmarks goes through.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace bench {

/// A figure with its 95 % interval.
struct Interval {
    double value = 0;
    double low = 0;
    double high = 0;
};

/// The value below which the fraction `p` (0 to 1) of `values` lies; not a number when there are none.
double percentile(std::vector<double> values, double p);

double median(const std::vector<double>& values);

/// A figure of some of the rounds, given by their numbers.
using FigureOfRounds = std::function<double(const std::vector<std::size_t>& rounds)>;

/// A figure of all `rounds` rounds and its 95 % interval, from `resamplings` resamplings of the rounds.
Interval bootstrap(std::size_t rounds, const FigureOfRounds& figure, int resamplings = 1000);

/// The median of `values` and its 95 % interval, from 1,000 resamplings of them.
Interval bootstrap_median(const std::vector<double>& values);

/// The median over rounds of a[i] / b[i], with its interval: the rounds must have been measured interleaved.
Interval bootstrap_ratio(const std::vector<double>& a, const std::vector<double>& b);

/// How far `values` moved while they were taken: the largest over the smallest median of five successive parts,
/// minus 1.
double moved(const std::vector<double>& values);

}  // namespace bench
