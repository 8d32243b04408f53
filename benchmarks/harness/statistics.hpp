// Medians, percentiles and their intervals: what every figure of the benchmarks goes through.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace bench {

/// Below so many rounds there is no 95 % interval by the sign test: six coins all fall on one side in 3 % of all cases.
inline constexpr std::size_t rounds_of_an_interval = 6;

/// A figure with its 95 % interval; the ends are not numbers where there were too few rounds for one.
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

/// The median of `values` and its 95 % interval by the sign test, which assumes nothing of how they are spread: the
/// values between which the median lies unless 97.5 % of fair coins fell on one side. Below rounds_of_an_interval no
/// interval is that sure, and its ends are not numbers.
Interval median_interval(std::vector<double> values);

/// How far `values` moved while they were taken: the largest over the smallest median of five successive parts,
/// minus 1.
double moved(const std::vector<double>& values);

}  // namespace bench
