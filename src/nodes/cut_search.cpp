#include "nodes/cut_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace penstock::nodes {
namespace {

constexpr std::size_t most_units = 24;           ///< free ones, for the exact search
constexpr std::size_t most_steps = 4'000'000;    ///< of it: about a second
constexpr std::size_t most_looks = 200'000'000;  ///< of all that is moved and exchanged: about as long
constexpr std::size_t most_exchanged = 200;      ///< units of which every two are tried
constexpr double exactness = 1e-9;               ///< of ratios and, relative to all, of bytes

enum class Goal { even, cheap };

/// Less is better, from left to right.
struct Score {
    std::size_t broken = 0;  ///< units that should part
    double over = 0;         ///< above memory and balance
    double first = 0, second = 0;
};

/// A smaller problem, whose units are several of the other one's.
struct Coarse {
    CutProblem problem{};
    std::vector<std::size_t> unit_of{};  ///< by unit of the other problem
};

/// Those that say most to one another for the work that they have become one, until at most `wanted` can move.
Coarse coarse_of(const CutProblem& fine, const std::vector<std::size_t>& free, std::size_t wanted) {
    const auto groups = fine.shares.size();
    Coarse made{fine, std::vector<std::size_t>(fine.units.size())};
    std::iota(made.unit_of.begin(), made.unit_of.end(), std::size_t{0});
    auto& units = made.problem.units;
    auto& edges = made.problem.edges;
    std::vector<bool> may_join(units.size(), false);
    for (const auto unit : free) may_join[unit] = true;
    std::size_t left = free.size();
    const auto work = [&](std::size_t unit) {
        double least = CutProblem::never;
        for (std::size_t group = 0; group < groups; ++group)
            least = std::min(least, units[unit].ratio[group] * fine.shares[group]);
        return least;
    };
    // At first none gets more than it would in a division into so many equal parts, then half as much again each time.
    for (double most = 2.0 / static_cast<double>(wanted); left > wanted && most < 4; most *= 1.5)
        for (bool some = true; some && left > wanted;) {
            some = false;
            std::optional<std::size_t> best;
            double of_best = 0;
            for (std::size_t i = 0; i < edges.size(); ++i) {
                const auto& edge = edges[i];
                if (!may_join[edge.one] || !may_join[edge.other] || edge.must_part) continue;
                bool somewhere = false;
                for (std::size_t group = 0; group < groups; ++group)
                    somewhere =
                        somewhere || units[edge.one].ratio[group] + units[edge.other].ratio[group] < CutProblem::never;
                const double both = work(edge.one) + work(edge.other);
                if (!somewhere || both > most) continue;
                const double gain = edge.apart / (both + exactness);
                if (!best || gain > of_best) best = i, of_best = gain;
            }
            if (!best) continue;
            some = true;
            --left;
            const auto into = edges[*best].one, from = edges[*best].other;
            for (std::size_t group = 0; group < groups; ++group) {
                units[into].ratio[group] += units[from].ratio[group];
                units[into].memory[group] += units[from].memory[group];
                units[into].own[group] += units[from].own[group];
            }
            may_join[from] = false;
            for (auto& unit : made.unit_of)
                if (unit == from) unit = into;
            std::vector<CutProblem::Edge> kept;
            for (auto& edge : edges) {
                if (edge.one == from) edge.one = into;
                if (edge.other == from) edge.other = into;
                if (edge.one == edge.other) {
                    for (std::size_t group = 0; group < groups; ++group) units[into].own[group] += edge.together[group];
                    continue;
                }
                const auto same = edge.one != into && edge.other != into
                                      ? kept.end()
                                      : std::ranges::find_if(kept, [&](const auto& each) {
                                            return (each.one == edge.one && each.other == edge.other) ||
                                                   (each.one == edge.other && each.other == edge.one);
                                        });
                if (same == kept.end()) {
                    kept.push_back(std::move(edge));
                    continue;
                }
                same->apart += edge.apart;
                same->must_part = same->must_part || edge.must_part;
                for (std::size_t group = 0; group < groups; ++group) same->together[group] += edge.together[group];
            }
            edges = std::move(kept);
        }
    // Those that are left get numbers in a row.
    std::vector<std::size_t> number(units.size(), 0);
    std::vector<CutProblem::Unit> rest;
    for (std::size_t unit = 0; unit < units.size(); ++unit)
        if (made.unit_of[unit] == unit) number[unit] = rest.size(), rest.push_back(std::move(units[unit]));
    units = std::move(rest);
    for (auto& edge : edges) edge.one = number[edge.one], edge.other = number[edge.other];
    for (auto& unit : made.unit_of) unit = number[unit];
    return made;
}

class Search {
  public:
    Search(const CutProblem& problem, Goal goal, double balance)
        : problem_(problem), goal_(goal), balance_(balance), groups_(problem.shares.size()),
          edges_(problem.units.size()) {
        double all = 1;
        for (const auto& edge : problem.edges) {
            edges_[edge.one].push_back(&edge);
            edges_[edge.other].push_back(&edge);
            all += edge.apart;
        }
        cost_exactness_ = exactness * all;
        for (std::size_t unit = 0; unit < problem.units.size(); ++unit) {
            std::size_t places = 0;
            for (std::size_t group = 0; group < groups_; ++group) places += may(unit, group);
            if (places != 1) free_.push_back(unit);
        }
    }

    CutFound run() {
        for (std::size_t unit = 0; unit < problem_.units.size(); ++unit)
            if (first_place(unit) == groups_) return {std::nullopt, true};
        improve_from_several();
        CutFound found;
        if (free_.size() <= most_units) found.searched_all = search_all();
        if (!known_.empty()) {
            found.answer = CutAnswer{known_, 0, 0, found.searched_all};
            place_all(known_);
            found.answer->cost = cost_;
            found.answer->balance = *std::ranges::max_element(ratio_);
        }
        return found;
    }

  private:
    bool may(std::size_t unit, std::size_t group) const {
        return problem_.units[unit].ratio[group] < CutProblem::never;
    }
    std::size_t first_place(std::size_t unit) const {
        std::size_t group = 0;
        while (group < groups_ && !may(unit, group)) ++group;
        return group;
    }
    static std::size_t other_end(const CutProblem::Edge& edge, std::size_t unit) {
        return edge.one == unit ? edge.other : edge.one;
    }
    static double cost_of(const CutProblem::Edge& edge, std::size_t one, std::size_t other) {
        return one == other ? edge.together[one] : edge.apart;
    }

    // ---- a whole placement, and what a move changes ----

    void place_all(const std::vector<std::size_t>& where) {
        group_ = where;
        ratio_.assign(groups_, 0);
        memory_.assign(groups_, 0);
        cost_ = 0;
        broken_ = 0;
        for (std::size_t unit = 0; unit < where.size(); ++unit) {
            const auto& it = problem_.units[unit];
            ratio_[where[unit]] += it.ratio[where[unit]];
            memory_[where[unit]] += it.memory[where[unit]];
            cost_ += it.own[where[unit]];
        }
        for (const auto& edge : problem_.edges) {
            cost_ += cost_of(edge, where[edge.one], where[edge.other]);
            broken_ += edge.must_part && where[edge.one] == where[edge.other];
        }
    }
    void move(std::size_t unit, std::size_t to) {
        const auto from = group_[unit];
        const auto& it = problem_.units[unit];
        ratio_[from] -= it.ratio[from];
        memory_[from] -= it.memory[from];
        ratio_[to] += it.ratio[to];
        memory_[to] += it.memory[to];
        cost_ += it.own[to] - it.own[from];
        for (const auto* const edge : edges_[unit]) {
            const auto other = group_[other_end(*edge, unit)];
            cost_ += cost_of(*edge, to, other) - cost_of(*edge, from, other);
            if (edge->must_part) broken_ += to == other, broken_ -= from == other;
        }
        group_[unit] = to;
        looks_ += edges_[unit].size() + 1;
    }
    Score score() const {
        Score made;
        made.broken = broken_;
        for (std::size_t group = 0; group < groups_; ++group) {
            if (memory_[group] > problem_.memory[group] * (1 + exactness))
                made.over += memory_[group] / problem_.memory[group] - 1;
            if (goal_ == Goal::cheap) made.over += std::max(0.0, ratio_[group] - balance_ - exactness);
            if (goal_ == Goal::even) {
                made.first = std::max(made.first, ratio_[group]);
                made.second += ratio_[group] * ratio_[group];
            }
        }
        if (goal_ == Goal::cheap) made.first = cost_;
        return made;
    }
    bool better(const Score& one, const Score& other) const {
        const double step = goal_ == Goal::cheap ? cost_exactness_ : exactness;
        if (one.broken != other.broken) return one.broken < other.broken;
        if (std::abs(one.over - other.over) > exactness) return one.over < other.over;
        if (std::abs(one.first - other.first) > step) return one.first < other.first;
        return one.second < other.second - exactness;
    }
    static bool allowed(const Score& score) { return score.broken == 0 && score.over <= exactness; }

    /// Every free unit moves once, the best move first, also where that is worse; the best state on the way is kept.
    bool pass() {
        const auto begin = score();
        auto best = begin;
        std::vector<std::pair<std::size_t, std::size_t>> done;  // unit, and where it was
        std::size_t good = 0;
        std::vector<bool> moved(problem_.units.size(), false);
        for (std::size_t turn = 0; turn < free_.size() && looks_ < most_looks; ++turn) {
            std::optional<std::pair<std::size_t, std::size_t>> chosen;
            Score of_chosen;
            for (const auto unit : free_) {
                if (moved[unit]) continue;
                const auto from = group_[unit];
                for (std::size_t to = 0; to < groups_; ++to) {
                    if (to == from || !may(unit, to)) continue;
                    move(unit, to);
                    const auto now = score();
                    move(unit, from);
                    if (!chosen || better(now, of_chosen)) chosen = {unit, to}, of_chosen = now;
                }
            }
            if (!chosen) break;
            done.emplace_back(chosen->first, group_[chosen->first]);
            move(chosen->first, chosen->second);
            moved[chosen->first] = true;
            if (better(of_chosen, best)) best = of_chosen, good = done.size();
        }
        while (done.size() > good) move(done.back().first, done.back().second), done.pop_back();
        return good != 0;
    }
    /// Where shares are tight, nothing can move alone.
    bool exchange() {
        if (free_.size() > most_exchanged) return false;
        bool some = false;
        for (std::size_t i = 0; i < free_.size(); ++i)
            for (std::size_t j = i + 1; j < free_.size() && looks_ < most_looks; ++j) {
                const auto one = free_[i], other = free_[j];
                const auto at = group_[one], to = group_[other];
                if (at == to || !may(one, to) || !may(other, at)) continue;
                const auto before = score();
                move(one, to), move(other, at);
                if (better(score(), before)) some = true;
                else move(one, at), move(other, to);
            }
        return some;
    }
    void improve(const std::vector<std::size_t>& begin) {
        place_all(begin);
        while (looks_ < most_looks && (pass() || exchange())) continue;
        place_all(group_);  // sums that have no rounding of many steps in them
        const auto now = score();
        if (!allowed(now)) return;
        if (known_.empty() || better(now, known_score_)) known_ = group_, known_score_ = now;
    }
    void improve_from_several() {
        const auto count = problem_.units.size();
        std::vector<std::size_t> begin(count);
        for (std::size_t unit = 0; unit < count; ++unit) begin[unit] = first_place(unit);
        improve(begin);
        // The heaviest first, each where it makes the least of a peak.
        std::vector<std::size_t> order(free_);
        std::ranges::stable_sort(order, std::greater{}, [&](std::size_t unit) { return least(unit); });
        std::vector<double> ratio(groups_, 0);
        for (std::size_t unit = 0; unit < count; ++unit)
            if (std::ranges::find(free_, unit) == free_.end())
                ratio[begin[unit]] += problem_.units[unit].ratio[begin[unit]];
        for (const auto unit : order) {
            std::size_t best = groups_;
            for (std::size_t group = 0; group < groups_; ++group)
                if (may(unit, group) && (best == groups_ || ratio[group] + problem_.units[unit].ratio[group] <
                                                                ratio[best] + problem_.units[unit].ratio[best]))
                    best = group;
            ratio[best] += problem_.units[unit].ratio[best];
            begin[unit] = best;
        }
        improve(begin);
        if (free_.size() > most_units) {
            const auto coarse = coarse_of(problem_, free_, most_units);
            if (coarse.problem.units.size() < count) {
                const auto found = Search(coarse.problem, goal_, balance_).run();
                if (found.answer) {
                    for (std::size_t unit = 0; unit < count; ++unit)
                        begin[unit] = found.answer->group[coarse.unit_of[unit]];
                    improve(begin);
                }
            }
        }
        std::minstd_rand chance(1);  // the same answer each time
        for (int turn = 0; turn < 12 && looks_ < most_looks; ++turn) {
            for (const auto unit : free_) do
                    begin[unit] = chance() % groups_;
                while (!may(unit, begin[unit]));
            improve(begin);
        }
    }

    // ---- every placement, but for those that cannot be better ----

    /// Of all work, at least.
    double least(std::size_t unit) const {
        double least = CutProblem::never;
        for (std::size_t group = 0; group < groups_; ++group)
            if (may(unit, group)) least = std::min(least, problem_.units[unit].ratio[group] * problem_.shares[group]);
        return least;
    }

    /// Those first that have nowhere else to go; then, for the cost, the one that is joined most to those before it.
    std::vector<std::size_t> order() const {
        std::vector<std::size_t> order;
        std::vector<bool> taken(problem_.units.size(), true);
        for (const auto unit : free_) taken[unit] = false;
        for (std::size_t unit = 0; unit < taken.size(); ++unit)
            if (taken[unit]) order.push_back(unit);
        std::vector<double> joined(problem_.units.size(), 0);
        const auto join = [&](std::size_t unit) {
            for (const auto* const edge : edges_[unit]) joined[other_end(*edge, unit)] += edge->apart;
        };
        for (const auto unit : order) join(unit);
        while (order.size() < taken.size()) {
            std::optional<std::size_t> next;
            const auto before = [&](std::size_t one, std::size_t other) {
                if (goal_ == Goal::cheap && joined[one] != joined[other]) return joined[one] > joined[other];
                return least(one) > least(other);
            };
            for (const auto unit : free_)
                if (!taken[unit] && (!next || before(unit, *next))) next = unit;
            taken[*next] = true;
            order.push_back(*next);
            join(*next);
        }
        return order;
    }

    /// False: it took too many steps.
    bool search_all() {
        order_ = order();
        const auto count = order_.size();
        group_.assign(count, groups_);
        ratio_.assign(groups_, 0);
        memory_.assign(groups_, 0);
        added_.assign(count, std::vector<double>(groups_, 0));
        closed_.assign(count, std::vector<int>(groups_, 0));
        for (std::size_t unit = 0; unit < count; ++unit) added_[unit] = problem_.units[unit].own;
        rest_.assign(count + 1, 0);
        for (std::size_t i = count; i-- > 0;) rest_[i] = rest_[i + 1] + least(order_[i]);
        steps_ = 0;
        return descend(0, 0);
    }
    bool hopeless(std::size_t depth, double cost) const {
        double room = 0, highest = 0, done = 0;
        for (std::size_t group = 0; group < groups_; ++group) {
            highest = std::max(highest, ratio_[group]);
            done += ratio_[group] * problem_.shares[group];
            room += (balance_ - ratio_[group]) * problem_.shares[group];
        }
        if (goal_ == Goal::even)
            return !known_.empty() && std::max(highest, done + rest_[depth]) >= known_score_.first - exactness;
        if (highest > balance_ + exactness || rest_[depth] > room + exactness) return true;
        if (known_.empty()) return false;
        for (std::size_t i = depth; i < order_.size(); ++i) {
            double least_added = CutProblem::never;
            for (std::size_t group = 0; group < groups_; ++group)
                if (may(order_[i], group) && closed_[order_[i]][group] == 0)
                    least_added = std::min(least_added, added_[order_[i]][group]);
            cost += least_added;
        }
        return cost >= known_score_.first - cost_exactness_;
    }
    bool descend(std::size_t depth, double cost) {
        if (++steps_ > most_steps) return false;
        if (hopeless(depth, cost)) return true;
        if (depth == order_.size()) {
            known_ = group_;
            known_score_ = {0, 0, goal_ == Goal::cheap ? cost : *std::ranges::max_element(ratio_), 0};
            return true;
        }
        const auto unit = order_[depth];
        const auto& it = problem_.units[unit];
        std::vector<std::size_t> groups;
        for (std::size_t group = 0; group < groups_; ++group)
            if (may(unit, group) && closed_[unit][group] == 0 &&
                memory_[group] + it.memory[group] <= problem_.memory[group] * (1 + exactness))
                groups.push_back(group);
        std::ranges::stable_sort(groups, {}, [&](std::size_t group) {
            return goal_ == Goal::cheap ? added_[unit][group] : ratio_[group] + it.ratio[group];
        });
        for (const auto group : groups) {
            put(unit, group, 1);
            const bool in_time = descend(depth + 1, cost + added_[unit][group]);
            put(unit, group, -1);
            if (!in_time) return false;
        }
        return true;
    }
    /// `sign` -1: takes it away.
    void put(std::size_t unit, std::size_t group, int sign) {
        const auto& it = problem_.units[unit];
        // What was there before comes back to the last bit: rounding would gather over millions of steps.
        if (sign > 0) saved_.emplace_back(ratio_[group], memory_[group]);
        ratio_[group] = sign > 0 ? ratio_[group] + it.ratio[group] : saved_.back().first;
        memory_[group] = sign > 0 ? memory_[group] + it.memory[group] : saved_.back().second;
        if (sign < 0) saved_.pop_back();
        group_[unit] = sign > 0 ? group : groups_;
        for (const auto* const edge : edges_[unit]) {
            const auto other = other_end(*edge, unit);
            if (group_[other] != groups_) continue;
            for (std::size_t to = 0; to < groups_; ++to) added_[other][to] += sign * cost_of(*edge, group, to);
            if (edge->must_part) closed_[other][group] += sign;
        }
    }

    const CutProblem& problem_;
    const Goal goal_;
    const double balance_;
    const std::size_t groups_;
    std::vector<std::vector<const CutProblem::Edge*>> edges_;
    std::vector<std::size_t> free_;  ///< units that have several places to go
    double cost_exactness_ = 0;

    std::vector<std::size_t> known_;  ///< the best so far; empty: none
    Score known_score_{};

    // a placement, whole or in part
    std::vector<std::size_t> group_;
    std::vector<double> ratio_, memory_;
    double cost_ = 0;
    std::size_t broken_ = 0, looks_ = 0;

    // the exact search
    std::vector<std::size_t> order_;
    std::vector<std::vector<double>> added_;  ///< by unit and group: to the cost, by those that are placed
    std::vector<std::vector<int>> closed_;    ///< by unit and group: by how many of them
    std::vector<double> rest_;                ///< of all work, at least, behind each depth
    std::vector<std::pair<double, double>> saved_;
    std::size_t steps_ = 0;
};

}  // namespace

CutFound most_even(const CutProblem& problem) { return Search(problem, Goal::even, 0).run(); }

CutFound least_cut(const CutProblem& problem, double balance) { return Search(problem, Goal::cheap, balance).run(); }

}  // namespace penstock::nodes
