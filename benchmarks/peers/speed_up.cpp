#include "peers/speed_up.hpp"

#include <algorithm>

#include "harness/processors.hpp"
#include "peers/ours.hpp"
#include "penstock/stream_options.hpp"

namespace bench {
namespace {

auto on_first(std::function<double()> body) {
    return [body = std::move(body)] {
        const Pinned pinned{allowed_processors().front()};
        return body();
    };
}

Result compare(const Filters& filters, int processors, bool with_rivals, const Options& options) {
    const auto machine = make_machine({.targets = processors - 1});
    std::vector<Contestant> contestants{
        {"serial", on_first(filters.serial)},
        {"streamed", on_first([&, processors] { return filters.streamed(*machine, processors); })}};
    if (with_rivals)
        for (const Rival rival : rivals())
            contestants.push_back({name(rival), [&, rival] { return filters.rival(rival); }});
    if (processors == 2 && filters.two_at_once) contestants.push_back({"two serial at once", filters.two_at_once});
    return measure(contestants, options.plan);
}

/// Over the best of the rivals, in each standing the one that was best there.
std::optional<Ratio> over_best_of(const Result& result) {
    std::vector<Ratio::Of> best;
    for (const Rival rival : rivals())
        for (const Ratio::Of& of : result.ratio(name(rival), "streamed").standings) {
            const auto same = std::ranges::find(best, of.standing, &Ratio::Of::standing);
            if (same == best.end()) best.push_back(of);
            else if (of.interval.value < same->interval.value) *same = of;
        }
    if (best.empty()) return {};
    return Ratio{std::move(best)};
}

}  // namespace

void SpeedUp::add(const SpeedUp& other) {
    on_two.add(other.on_two);
    if (over_best && other.over_best) over_best->add(*other.over_best);
}

SpeedUp measure_speed_up(const Filters& filters, const std::string& prefix, const Options& options, Report& report) {
    const int most = std::max(2, static_cast<int>(allowed_processors().size()));
    SpeedUp found;
    const auto measure_on = [&](int processors) {
        const auto result = compare(filters, processors, processors == most && filters.rival, options);
        for (const auto& name : result.names()) {
            if (name == "serial" && processors != most) continue;
            const auto faster = result.ratio("serial", name).usual;
            report.row(prefix + (name == "serial" ? "" : std::to_string(processors) + " processors, ") + name,
                       {{filters.unit + "_a_second", filters.units / result.median(name) * 1e9},
                        {"us_each", result.median(name) / filters.units / 1e3},
                        {"speed_up", faster.value},
                        {"low", faster.low},
                        {"high", faster.high},
                        {"times_streamed", result.ratio(name, "streamed").usual.value}});
        }
        report.conditions(result);
        if (processors == 2) found.on_two = result.ratio("serial", "streamed");
        if (processors == most && filters.rival) found.over_best = over_best_of(result);
    };
    for (int processors = 1; processors < most; processors *= 2) measure_on(processors);
    measure_on(most);
    return found;
}

void judge_automatic(const std::string& name, const Filters& filters, const Options& options, Report& report) {
    constexpr const char* chosen = "automatic";
    const int most = std::max(2, static_cast<int>(allowed_processors().size()));
    const auto machine = make_machine({.targets = most - 1});
    const auto with = [&](int copies) { return on_first([&, copies] { return filters.streamed(*machine, copies); }); };
    std::vector<Contestant> contestants{{chosen, with(penstock::FilterOptions::automatic)}};
    for (int copies = 1; copies <= most + 2; ++copies)
        contestants.push_back({std::to_string(copies) + " copies", with(copies)});
    const auto result = measure(contestants, options.plan);
    report.conditions(result);
    std::string best = contestants[1].name;
    for (const auto& each : result.names()) {
        if (each != chosen && result.median(each) < result.median(best)) best = each;
        const auto over = result.ratio(each, chosen).usual;
        report.row("copies of each filter: " + each,
                   {{filters.unit + "_a_second", filters.units / result.median(each) * 1e9},
                    {"times_automatic", over.value},
                    {"low", over.low},
                    {"high", over.high}});
    }
    report.goal(name + "/automatic", result.ratio(best, chosen), Direction::at_least, 0.97);
}

void judge_over_best(const std::string& name, const SpeedUp& measured, double wanted, Report& report) {
    if (measured.over_best) report.goal(name, *measured.over_best, Direction::at_least, wanted);
    else report.missing(name, Direction::at_least, wanted, "no rival was found when this was built");
}

void judge_speed_up(const std::string& name, const SpeedUp& measured, double wanted, Report& report) {
    report.goal(name + "/speedup-2", measured.on_two, Direction::at_least, wanted, Judged::by_interval);
    judge_over_best(name + "/over-best", measured, 1, report);
}

}  // namespace bench
