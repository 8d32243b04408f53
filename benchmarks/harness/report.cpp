#include "harness/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "harness/json.hpp"
#include "harness/processors.hpp"

namespace bench {
namespace {

const char* sign(Direction direction) { return direction == Direction::at_most ? "<=" : ">="; }

std::string shown(double number) {
    if (!std::isfinite(number)) return "-";
    char text[40];
    std::snprintf(text, sizeof text,
                  std::fabs(number) >= 1000  ? "%.0f"
                  : std::fabs(number) >= 100 ? "%.1f"
                                             : "%.3g",
                  number);
    return text;
}

bool same_columns(const Report::Figures& a, const Report::Figures& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return x.first == y.first; });
}

/// The end of the interval that decides.
double deciding(const Interval& measured, Direction direction, Judged judged) {
    return judged == Judged::by_value         ? measured.value
           : direction == Direction::at_least ? measured.high
                                              : measured.low;
}

/// The worst of the comparisons for which `chosen` holds; none: nullptr.
template <class Chosen>
const Ratio::Of* worst_of(const Ratio& measured, Direction direction, Judged judged, Chosen chosen) {
    const Ratio::Of* worst = nullptr;
    for (const auto& one : measured.standings)
        if (chosen(one) && (worst == nullptr || worse(one.interval, worst->interval, direction, judged))) worst = &one;
    return worst;
}

const Ratio::Of* worst_of(const Ratio& measured, Direction direction, Judged judged) {
    return worst_of(measured, direction, judged, [](const Ratio::Of& one) { return one.judged(); });
}

/// What is shown of each standing beside the figure.
std::vector<Ratio::Of> shown_standings(const Ratio& measured, Direction direction, Judged judged) {
    std::vector<Ratio::Of> shown;
    for (const bool enough : {true, false})
        for (const Standing standing : {Standing::near, Standing::far})
            if (const auto* one =
                    worst_of(measured, direction, Judged{enough ? judged : Judged::by_value},
                             [&](const Ratio::Of& of) { return of.standing == standing && of.judged() == enough; }))
                shown.push_back(*one);
    if (shown.size() == 1 && shown.front().judged()) shown.clear();
    return shown;
}

const std::string too_few = "fewer than " + std::to_string(rounds_of_an_interval) + " rounds";

}  // namespace

bool worse(const Interval& a, const Interval& b, Direction direction, Judged judged) {
    const double first = deciding(a, direction, judged), second = deciding(b, direction, judged);
    if (first == second) return direction == Direction::at_least ? a.value < b.value : a.value > b.value;
    return direction == Direction::at_least ? first < second : first > second;
}

bool worse(const Ratio& a, const Ratio& b, Direction direction, Judged judged) {
    const auto *first = worst_of(a, direction, judged), *second = worst_of(b, direction, judged);
    return first != nullptr && (second == nullptr || worse(first->interval, second->interval, direction, judged));
}

Report::Report(const About& about, const Options& options) : about_(about), options_(options) {}

void Report::row(std::string name, Figures figures) { rows_.push_back({std::move(name), std::move(figures)}); }

void Report::rows(const std::string& prefix, const Result& result) {
    const std::string& floor = result.names().front();
    for (const auto& name : result.names()) {
        const auto standings = result.ratio(name, floor).standings;
        for (const auto& [standing, over, rounds] : standings)
            row(prefix + name + (standings.size() > 1 ? std::string(", ") + bench::name(standing) : "") +
                    (rounds < rounds_of_an_interval ? " (" + too_few + ")" : ""),
                {{"median_ns", result.median(name, standing)},
                 {"over_" + floor, over.value},
                 {"low", over.low},
                 {"high", over.high},
                 {"p99.9_ns", result.worst(name)}});
    }
    conditions(result);
}

void Report::goal(std::string name, Interval measured, Direction direction, double goal, Judged judged) {
    if (std::isnan(measured.low)) return goals_.push_back({std::move(name), measured, direction, goal, false, too_few});
    const double nearest = deciding(measured, direction, judged);
    const bool met = direction == Direction::at_least ? nearest >= goal : nearest <= goal;
    goals_.push_back({std::move(name), measured, direction, goal, met, ""});
}

void Report::goal(std::string name, const Ratio& measured, Direction direction, double goal, Judged judged) {
    const auto* worst = worst_of(measured, direction, judged);
    this->goal(std::move(name), worst ? worst->interval : measured.usual, direction, goal, judged);
    goals_.back().standings = shown_standings(measured, direction, judged);
}

void Report::missing(std::string name, Direction direction, double goal, std::string why) {
    goals_.push_back({std::move(name), std::nullopt, direction, goal, false, std::move(why)});
}

Report::Conditions Report::Conditions::of(const Result& result) {
    Conditions found{result.noise(), result.floor_moved(), result.voided};
    for (const Standing standing : result.standings()) (standing == Standing::near ? found.near : found.far) = true;
    return found;
}

void Report::Conditions::add(const Conditions& other) {
    if (noise_of(other.noise) >= noise_of(noise)) noise = other.noise;
    moved = std::max(moved, other.moved);
    voided += other.voided;
    near |= other.near;
    far |= other.far;
}

void Report::conditions(const Conditions& found) {
    if (!conditions_) conditions_.emplace();
    conditions_->add(found);
}

int Report::finish() const {
    print();
    if (options_.json.empty()) return 0;
    std::ofstream file{options_.json};
    file << json() << '\n';
    file.flush();
    if (file) return 0;
    std::fprintf(stderr, "%s: cannot write '%s'\n", about_.name.c_str(), options_.json.c_str());
    return 1;
}

void Report::print() const {
    std::printf("%s: %s\n%s%s\n", about_.name.c_str(), about_.summary.c_str(), machine_in_words().c_str(),
                options_.quick ? " (quick: the figures mean little)" : "");
    std::size_t width = 20;
    for (const auto& row : rows_) width = std::max(width, row.name.size());
    const Figures* header = nullptr;
    for (const auto& row : rows_) {
        if (header == nullptr || !same_columns(*header, row.figures)) {
            std::printf("\n%-*s", static_cast<int>(width), "");
            for (const auto& [name, figure] : row.figures)
                std::printf(" %*s", std::max(9, static_cast<int>(name.size())), name.c_str());
            std::printf("\n");
            header = &row.figures;
        }
        std::printf("%-*s", static_cast<int>(width), row.name.c_str());
        for (const auto& [name, figure] : row.figures)
            std::printf(" %*s", std::max(9, static_cast<int>(name.size())), shown(figure).c_str());
        std::printf("\n");
    }
    if (conditions_) {
        const auto& [noise, moved, voided, near, far] = *conditions_;
        std::printf(
            "\nnoise (A/A) %s [%s, %s]; the floor moved by %.0f %%; runs thrown away: %d%s%s\n",
            shown(noise.value).c_str(), shown(noise.low).c_str(), shown(noise.high).c_str(), 100 * moved, voided,
            near && far ? "; the processors were near and far in turn, each compared with its like" : "",
            noise_of(noise) > options_.plan.largest_noise ? "; VOID: no run was quiet enough, run it again" : "");
    } else {
        std::printf("\nnoise (A/A): not measured\n");
    }
    for (const auto& note : notes_) std::printf("note: %s\n", note.c_str());
    for (const auto& goal : goals_) {
        if (goal.measured) {
            std::printf("%-6s %s: %s [%s, %s], goal %s %s%s\n",
                        goal.met           ? "met"
                        : goal.why.empty() ? "MISSED"
                                           : "unsure",
                        goal.name.c_str(), shown(goal.measured->value).c_str(), shown(goal.measured->low).c_str(),
                        shown(goal.measured->high).c_str(), sign(goal.direction), shown(goal.goal).c_str(),
                        goal.why.empty() ? "" : (": not judged, " + goal.why).c_str());
            for (const auto& one : goal.standings) {
                const auto& [standing, interval, rounds] = one;
                std::printf("         %s: %s [%s, %s] in %zu rounds%s\n", bench::name(standing),
                            shown(interval.value).c_str(), shown(interval.low).c_str(), shown(interval.high).c_str(),
                            rounds, one.judged() ? "" : ", too few to judge");
            }
        } else {
            std::printf("%-6s %s: not measured (%s), goal %s %s\n", "MISSED", goal.name.c_str(), goal.why.c_str(),
                        sign(goal.direction), shown(goal.goal).c_str());
        }
    }
}

std::string Report::json() const {
    JsonWriter out;
    out.open('{');
    out.value("bench", about_.name);
    out.open("machine", '{');
    for (const auto& [key, text] : machine_facts()) out.value(key, text);
    out.close();
    out.value("quick", options_.quick);
    if (conditions_) {
        out.open("noise", '{');
        out.value("value", conditions_->noise.value);
        out.value("low", conditions_->noise.low);
        out.value("high", conditions_->noise.high);
        out.value("floor_moved", conditions_->moved);
        out.value("runs_thrown_away", static_cast<double>(conditions_->voided));
        out.value("near_and_far", conditions_->near && conditions_->far);
        out.value("void", noise_of(conditions_->noise) > options_.plan.largest_noise);
        out.close();
    }
    out.open("rows", '[');
    for (const auto& row : rows_) {
        out.open('{');
        out.value("name", row.name);
        for (const auto& [name, figure] : row.figures) out.value(name, figure);
        out.close();
    }
    out.close();
    out.open("goals", '[');
    for (const auto& goal : goals_) {
        const double nothing = std::nan("");
        const Interval measured = goal.measured.value_or(Interval{nothing, nothing, nothing});
        out.open('{');
        out.value("name", goal.name);
        out.value("value", measured.value);
        out.value("low", measured.low);
        out.value("high", measured.high);
        out.value("goal", goal.goal);
        out.value("direction", sign(goal.direction));
        out.value("met", goal.met);
        if (!goal.why.empty()) out.value("why", goal.why);
        for (const auto& one : goal.standings) {
            const auto& [standing, interval, rounds] = one;
            out.open(bench::name(standing) + std::string(one.judged() ? "" : "_not_judged"), '{');
            out.value("value", interval.value);
            out.value("low", interval.low);
            out.value("high", interval.high);
            out.value("rounds", static_cast<double>(rounds));
            out.close();
        }
        out.close();
    }
    out.close();
    out.open("notes", '[');
    for (const auto& note : notes_) {
        out.open('{');
        out.value("text", note);
        out.close();
    }
    out.close();
    out.close();
    return out.text();
}

}  // namespace bench
