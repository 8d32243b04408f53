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

/// One of the things that are compared. `batch` does many operations and returns the nanoseconds of one; it warms up by
/// itself, untimed. `singles`, where latency matters, appends the times of operations that were timed one by one.
/// `beside`, called after each batch, gives a second figure of it. `look` gives F1 as it stands, in ns: that of
/// nearest_floors() where it is empty.
struct Contestant {
    std::string name;
    std::function<double()> batch;
    std::function<void(std::vector<double>&)> singles = {};
    std::function<double()> beside = {};
    std::function<double()> look = {};
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
    return {std::move(name), std::move(batch), std::move(singles), {}, {}};
}

/// How far from 1 a thing over itself may be, by this interval; infinity where there were too few rounds to tell.
double noise_of(const Interval& over_itself);

/// How a comparison is run.
struct Plan {
    int rounds = 101;
    int attempts = 3;             ///< how often a run that is too noisy is repeated before the quietest one is reported
    double largest_noise = 0.15;  ///< a run is void whose floor, twice a round, may differ from itself by more
    /// Quiet time before each batch, in which the previous contestant's threads go to sleep
    double settle_ms = 3;
    /// So long at most, where threads still run: those of OpenMP and of OpenBLAS look for work for 25 ms on some
    /// processors
    double most_settle_ms = 30;
};

/// Where the processors stood to one another while a batch ran, by the floor F1 beside it. Virtual machines change
/// between the two within seconds.
enum class Standing {
    near,   ///< or all that there was
    far,    ///< F1 took more than twice as long
    mixed,  ///< it changed during the batch, which counts for nothing
};
const char* name(Standing standing);

/// How many times longer one thing took than another, in each standing. No interval by itself: a goal is judged by all
/// of them.
struct Ratio {
    struct Of {
        Standing standing;
        Interval interval;
        std::size_t rounds;
        /// Too few rounds make no interval: it is shown, and judges nothing.
        bool judged() const { return rounds >= rounds_of_an_interval; }
    };
    Ratio() = default;
    explicit Ratio(std::vector<Of> all);

    /// The comparisons of another case: a goal that is judged by both must hold for each.
    void add(const Ratio& other);

    Interval usual;             ///< of the standing seen most often: for tables, never for goals
    std::vector<Of> standings;  ///< of one case one or two
};

/// What was measured: for each contestant one figure a round. The first contestant is the floor. Only figures of the
/// same round and of the same standing are compared.
class Result {
  public:
    Result(std::vector<std::string> names, int rounds);

    /// All figures of a contestant, in ns, one a round. Throws std::out_of_range for a name that did not take part.
    const std::vector<double>& of(const std::string& name) const { return figures_[index(name)]; }
    const std::vector<std::string>& names() const { return names_; }
    /// Those that were seen often enough to be judged, the one seen most often first. Never empty.
    const std::vector<Standing>& standings() const { return standings_; }
    /// In the standing seen most often, or in this one.
    double median(const std::string& name) const { return median(name, standings_.front()); }
    double median(const std::string& name, Standing standing) const;
    Interval interval(const std::string& name) const;
    /// Time of `a` over time of `b`.
    Ratio ratio(const std::string& a, const std::string& b) const;
    /// The ratio of `a` and `b` over that of `c` and `d`.
    Ratio ratio_of_ratios(const std::string& a, const std::string& b, const std::string& c, const std::string& d) const;
    /// The second figure of its batches (Contestant::beside), which the contestant must have.
    Ratio beside(const std::string& name) const;
    /// The floor over itself, measured twice a round, in the noisier of the standings that are judged: whatever is
    /// closer to 1 is no difference.
    Interval noise() const;
    /// By how much the floor moved within a standing, from one fifth of the run to another. Ratios of the same round do
    /// not move with it.
    double floor_moved() const;
    bool is_void(const Plan& plan) const { return noise_of(noise()) > plan.largest_noise; }
    /// The 99.9th percentile of the operations that were timed one by one, in ns; not a number where none were.
    double worst(const std::string& name) const;

    int voided = 0;  ///< how many runs were thrown away before this one

  private:
    friend Result run_once(const std::vector<Contestant>& contestants, const Plan& plan);
    /// F1 before and after a batch, in ns.
    struct Look {
        double before, after;
    };
    std::size_t index(const std::string& name) const;
    /// Says of each batch where the processors stood.
    void tell_standings();
    std::vector<double> ratios(std::size_t a, std::size_t b, Standing standing) const;
    std::vector<double> those(std::size_t place, Standing standing) const {
        return those(figures_[place], place, standing);
    }
    std::vector<double> those(const std::vector<double>& figures, std::size_t place, Standing standing) const;

    // One place more than there are names: the last one is the floor again, for the noise.
    std::vector<std::string> names_;
    std::vector<std::vector<double>> figures_;
    std::vector<std::vector<Look>> looks_;
    std::vector<std::vector<Standing>> stood_;
    std::vector<std::vector<double>> singles_;
    std::vector<std::vector<double>> beside_;
    std::vector<Standing> standings_{Standing::near};
};

/// Runs the contestants (the floor first) interleaved, again when that was too noisy, and gives the first run that is
/// not void, or the quietest. Costs about rounds * (contestants + 1) * (a batch and the settling time).
Result measure(const std::vector<Contestant>& contestants, const Plan& plan);

}  // namespace bench
