#include "harness/measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>

#include "harness/floors.hpp"
#include "src/machine/upper_halves.hpp"

namespace bench {

const char* name(Standing standing) {
    return standing == Standing::near ? "near" : standing == Standing::far ? "far" : "mixed";
}

Ratio::Ratio(std::vector<Of> all) : usual(all.front().interval), standings(std::move(all)) {}

void Ratio::add(const Ratio& other) {
    if (standings.empty()) usual = other.usual;
    standings.insert(standings.end(), other.standings.begin(), other.standings.end());
}

Result::Result(std::vector<std::string> names, int rounds)
    : names_(std::move(names)), figures_(names_.size() + 1), looks_(names_.size() + 1), singles_(names_.size()),
      beside_(names_.size() + 1) {
    for (auto& figures : figures_) figures.reserve(static_cast<std::size_t>(rounds));
}

std::size_t Result::index(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) throw std::out_of_range("no contestant is named '" + name + "'");
    return static_cast<std::size_t>(found - names_.begin());
}

void Result::tell_standings() {
    std::vector<double> all;
    for (const auto& looks : looks_)
        for (const Look& look : looks) all.insert(all.end(), {look.before, look.after});
    const double low = percentile(all, 0.05), high = percentile(all, 0.95);
    const double border = high > 2 * low ? std::sqrt(low * high) : std::numeric_limits<double>::infinity();
    stood_.clear();
    std::size_t near = 0, far = 0, batches = 0;
    for (const auto& looks : looks_) {
        auto& stood = stood_.emplace_back();
        for (const Look& look : looks) {
            const bool far_before = look.before > border, far_after = look.after > border;
            stood.push_back(far_before != far_after ? Standing::mixed : far_after ? Standing::far : Standing::near);
            near += stood.back() == Standing::near;
            far += stood.back() == Standing::far;
            ++batches;
        }
    }
    // A standing that was seen in less than a tenth of the batches says too little.
    standings_ = {near >= far ? Standing::near : Standing::far};
    if (std::min(near, far) * 10 >= batches) standings_.push_back(near >= far ? Standing::far : Standing::near);
}

std::vector<double> Result::those(const std::vector<double>& figures, std::size_t place, Standing standing) const {
    std::vector<double> chosen;
    for (std::size_t i = 0; i < figures.size(); ++i)
        if (stood_[place][i] == standing) chosen.push_back(figures[i]);
    return chosen;
}

std::vector<double> Result::ratios(std::size_t a, std::size_t b, Standing standing) const {
    std::vector<double> chosen;
    for (std::size_t i = 0; i < figures_[a].size(); ++i)
        if (stood_[a][i] == standing && stood_[b][i] == standing) chosen.push_back(figures_[a][i] / figures_[b][i]);
    return chosen;
}

double Result::median(const std::string& name, Standing standing) const {
    return bench::median(those(index(name), standing));
}
Interval Result::interval(const std::string& name) const {
    return median_interval(those(index(name), standings_.front()));
}

Ratio Result::ratio(const std::string& a, const std::string& b) const { return ratio_of_ratios(a, b, b, b); }

Ratio Result::ratio_of_ratios(const std::string& a, const std::string& b, const std::string& c,
                              const std::string& d) const {
    const std::array<std::size_t, 4> places{index(a), index(b), index(c), index(d)};
    const auto figure = [&](std::size_t place, std::size_t round) { return figures_[places[place]][round]; };
    std::vector<Ratio::Of> found;
    for (const Standing standing : standings_) {
        std::vector<double> chosen;
        for (std::size_t i = 0; i < figures_.front().size(); ++i)
            if (std::all_of(places.begin(), places.end(),
                            [&](std::size_t place) { return stood_[place][i] == standing; }))
                chosen.push_back(figure(0, i) / figure(1, i) / (figure(2, i) / figure(3, i)));
        found.push_back({standing, median_interval(chosen), chosen.size()});
    }
    return Ratio{std::move(found)};
}

Ratio Result::beside(const std::string& name) const {
    std::vector<Ratio::Of> found;
    for (const Standing standing : standings_) {
        const auto chosen = those(beside_[index(name)], index(name), standing);
        found.push_back({standing, median_interval(chosen), chosen.size()});
    }
    return Ratio{std::move(found)};
}

double noise_of(const Interval& over_itself) {
    if (std::isnan(over_itself.low)) return std::numeric_limits<double>::infinity();
    return std::max(std::fabs(over_itself.low - 1), std::fabs(over_itself.high - 1));
}

Interval Result::noise() const {
    Interval noisiest = median_interval(ratios(names_.size(), 0, standings_.front()));
    for (const Standing standing : standings_) {
        const auto found = ratios(names_.size(), 0, standing);
        if (found.size() < rounds_of_an_interval) continue;  // it judges nothing
        if (const auto interval = median_interval(found); noise_of(interval) > noise_of(noisiest)) noisiest = interval;
    }
    return noisiest;
}

double Result::floor_moved() const {
    double most = 0;
    for (const Standing standing : standings_) most = std::max(most, moved(those(0, standing)));
    return most;
}

double Result::worst(const std::string& name) const { return percentile(singles_[index(name)], 0.999); }

/// Threads of this machine that run now, the caller included: the fourth field of /proc/loadavg, "2/345". 1 where that
/// is not to be had.
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
    penstock::forget_upper_halves();  // all contestants begin without what a sleep leaves there
}

Result run_once(const std::vector<Contestant>& contestants, const Plan& plan) {
    std::vector<std::string> names;
    for (const auto& contestant : contestants) names.push_back(contestant.name);
    Result result{names, plan.rounds};

    std::vector<std::size_t> order(contestants.size() + 1);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937 random{2024};
    for (int round = 0; round < plan.rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t place : order) {
            settle(plan);
            const Contestant& contestant = contestants[place < contestants.size() ? place : 0];
            const auto look = [&contestant] { return contestant.look ? contestant.look() : nearest_floors().look(); };
            const double before = look();
            result.figures_[place].push_back(contestant.batch());
            if (contestant.beside) result.beside_[place].push_back(contestant.beside());
            result.looks_[place].push_back({before, look()});
            if (place < contestants.size() && contestant.singles) contestant.singles(result.singles_[place]);
        }
    }
    result.tell_standings();
    return result;
}

Result measure(const std::vector<Contestant>& contestants, const Plan& plan) {
    if (contestants.empty()) throw std::invalid_argument("measure() needs a floor: give it at least one contestant");
    Result quietest = run_once(contestants, plan);
    for (int voided = 1; voided < plan.attempts && quietest.is_void(plan); ++voided) {
        Result next = run_once(contestants, plan);
        if (noise_of(next.noise()) < noise_of(quietest.noise())) quietest = std::move(next);
        quietest.voided = voided;
    }
    return quietest;
}

}  // namespace bench
