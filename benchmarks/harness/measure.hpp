// Interleaved measuring: times on shared machines drift by more than the differences that matter, so each contestant
// does one short batch a round, in an order that is shuffled anew each round, and only ratios of the same round count.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/statistics.hpp"

namespace bench {

using Clock = std::chrono::steady_clock;

inline double nanoseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// One of the things that are compared. `batch` does many operations and returns the nanoseconds of one; it warms up
/// by itself, untimed. `singles`, where latency matters, appends the times of operations that were timed one by one.
struct Contestant {
    std::string name;
    std::function<double()> batch;
    std::function<void(std::vector<double>&)> singles = {};
};

/// Makes a contestant of one operation: `operations` a batch, after a quarter as many to warm up.
template <class Operation>
Contestant repeated(std::string name, int operations, Operation operation) {
    auto batch = [operations, operation]() mutable {
        for (int i = 0; i < operations / 4; ++i) operation();
        const auto start = Clock::now();
        for (int i = 0; i < operations; ++i) operation();
        return nanoseconds_since(start) / operations;
    };
    auto singles = [operations, operation](std::vector<double>& times) mutable {
        for (int i = 0; i < operations / 4; ++i) operation();
        for (int i = 0; i < operations; ++i) {
            const auto start = Clock::now();
            operation();
            times.push_back(nanoseconds_since(start));
        }
    };
    return {std::move(name), std::move(batch), std::move(singles)};
}

/// How a comparison is run.
struct Plan {
    int rounds = 101;
    int attempts = 5;           ///< how often a run whose floor moved is repeated before the quietest one is reported
    double largest_move = 0.2;  ///< a run in which the floor moved by more is void
    double settle_ms = 3;        ///< quiet time before each batch, in which the previous contestant's threads go to sleep
    double most_settle_ms = 30;  ///< so long at most, where threads still run: those of OpenMP and of OpenBLAS look for work for 25 ms on some processors
};

/// What was measured: for each contestant one figure a round. The first contestant is the floor.
class Result {
  public:
    Result(std::vector<std::string> names, int rounds);

    /// All figures of a contestant, in ns, one a round. Throws std::out_of_range for a name that did not take part.
    const std::vector<double>& of(const std::string& name) const;
    const std::vector<std::string>& names() const { return names_; }
    double median(const std::string& name) const { return bench::median(of(name)); }
    Interval interval(const std::string& name) const { return bootstrap_median(of(name)); }
    /// Time of `a` over time of `b`.
    Interval ratio(const std::string& a, const std::string& b) const { return bootstrap_ratio(of(a), of(b)); }
    /// The floor over itself, measured twice a round: whatever is closer to 1 than this is no difference.
    Interval noise() const { return bootstrap_ratio(again_, figures_.front()); }
    double floor_moved() const { return bench::moved(figures_.front()); }
    bool is_void(const Plan& plan) const { return floor_moved() > plan.largest_move; }
    /// The 99.9th percentile of the operations that were timed one by one, in ns; not a number where none were.
    double worst(const std::string& name) const;

    int voided = 0;  ///< how many runs were thrown away before this one

  private:
    friend Result run_once(const std::vector<Contestant>& contestants, const Plan& plan);
    std::size_t index(const std::string& name) const;

    std::vector<std::string> names_;
    std::vector<std::vector<double>> figures_;
    std::vector<std::vector<double>> singles_;
    std::vector<double> again_;
};

/// Runs the contestants (the floor first) interleaved, again when the floor moved, and gives the first run that is not
/// void, or the quietest. Costs about rounds * (contestants + 1) * (a batch and the settling time).
Result measure(const std::vector<Contestant>& contestants, const Plan& plan);

}  // namespace bench
