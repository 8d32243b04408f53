#include "harness/measure.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>

namespace bench {

Result::Result(std::vector<std::string> names, int rounds)
    : names_(std::move(names)), figures_(names_.size()), singles_(names_.size()) {
    for (auto& figures : figures_) figures.reserve(static_cast<std::size_t>(rounds));
}

std::size_t Result::index(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) throw std::out_of_range("no contestant is named '" + name + "'");
    return static_cast<std::size_t>(found - names_.begin());
}

const std::vector<double>& Result::of(const std::string& name) const { return figures_[index(name)]; }

double Result::worst(const std::string& name) const { return percentile(singles_[index(name)], 0.999); }

/// Threads of this machine that run now, the caller included: the fourth field of /proc/loadavg, "2/345". 1 where that is not to be had.
static int running_threads() {
    std::ifstream file("/proc/loadavg");
    double load = 0;
    int running = 1;
    file >> load >> load >> load >> running;
    return running;
}

static void settle(const Plan& plan) {
    const auto ms = [](double count) { return std::chrono::duration<double, std::milli>(count); };
    const auto begin = Clock::now();
    std::this_thread::sleep_for(ms(plan.settle_ms));
    while (running_threads() > 1 && Clock::now() - begin < ms(plan.most_settle_ms)) std::this_thread::sleep_for(ms(1));
}

Result run_once(const std::vector<Contestant>& contestants, const Plan& plan) {
    std::vector<std::string> names;
    for (const auto& contestant : contestants) names.push_back(contestant.name);
    Result result{names, plan.rounds};

    // One place more than there are contestants: the last one is the floor again, for the noise.
    std::vector<std::size_t> order(contestants.size() + 1);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937 random{2024};
    for (int round = 0; round < plan.rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t place : order) {
            settle(plan);
            if (place == contestants.size()) {
                result.again_.push_back(contestants.front().batch());
                continue;
            }
            result.figures_[place].push_back(contestants[place].batch());
            if (contestants[place].singles) contestants[place].singles(result.singles_[place]);
        }
    }
    return result;
}

Result measure(const std::vector<Contestant>& contestants, const Plan& plan) {
    if (contestants.empty()) throw std::invalid_argument("measure() needs a floor: give it at least one contestant");
    Result quietest = run_once(contestants, plan);
    for (int voided = 1; voided < plan.attempts && quietest.is_void(plan); ++voided) {
        Result next = run_once(contestants, plan);
        if (next.floor_moved() < quietest.floor_moved()) quietest = std::move(next);
        quietest.voided = voided;
    }
    return quietest;
}

}  // namespace bench
