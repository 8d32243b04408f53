#include "calls/published.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "harness/processors.hpp"
#include "peers/ours.hpp"
#include "penstock/trace.hpp"

namespace bench {
namespace {

using penstock::Distribution;
using penstock::MachineOptions;
using penstock::Prefetch;
namespace trace = penstock::trace;

struct Way {
    std::string name;
    std::unique_ptr<penstock::Machine> machine;
};

Way way(std::string name, int targets, MachineOptions options) {
    options.targets = targets;
    return {std::move(name), make_machine(options)};
}

Way in_turn(int targets, std::uint32_t depth, Prefetch prefetch) {
    return way(std::to_string(targets) + " targets, lanes of " + std::to_string(depth) +
                   (prefetch == Prefetch::never ? "" : ", prefetch"),
               targets,
               {.depth = depth,
                .distribution = Distribution::round_robin,
                .when_full = penstock::WhenFull::wait,
                .prefetch = prefetch});
}

std::vector<Way> ways(bool quick) {
    const int most = std::max(1, static_cast<int>(allowed_processors().size()) - 1);
    std::vector<Way> all;
    for (int targets = 1; targets < most; targets *= 2) all.push_back(in_turn(targets, 4, Prefetch::always));
    for (const std::uint32_t depth : {1u, 2u, 4u, 16u, 64u}) {
        if (quick && depth == 2) continue;
        for (const auto prefetch : {Prefetch::never, Prefetch::always}) all.push_back(in_turn(most, depth, prefetch));
    }
    all.push_back(way(std::to_string(most) + " targets, balanced, the caller helps", most, {}));
    return all;
}

template <class Body>
double nanoseconds(const CalledApplication& application, const Body& body) {
    application.prepare();
    const auto start = Clock::now();
    body();
    const double taken = nanoseconds_since(start);
    application.check();
    return taken;
}

/// One more run: its calls, and where its time went.
Report::Figures look_at(const Way& way, const CalledApplication& application) {
    application.prepare();
    const trace::Snapshot begin = way.machine->snapshot();
    application.called(*way.machine);
    const auto period = way.machine->snapshot() - begin;
    application.check();
    std::uint64_t calls = 0;
    for (const auto& [track, entry] : period.tracks())
        if (const auto* initiator = std::get_if<trace::InitiatorTotals>(&entry.totals)) calls += initiator->calls;
    if (calls != application.calls)
        throw std::runtime_error(application.name + ": " + way.name + " issued " + std::to_string(calls) + " calls");
    Report::Figures figures{{"calls", static_cast<double>(calls)}};
    const trace::Breakdown breakdown{period};
    for (const auto& share : breakdown.all(trace::Role::initiator).shares)
        if (share.part == trace::Part::queue_stall) figures.emplace_back("queue_stall_percent", share.percent);
    for (const auto& share : breakdown.all(trace::Role::target).shares)
        if (share.part == trace::Part::idle) figures.emplace_back("idle_percent", share.percent);
    return figures;
}

}  // namespace

void compare_ways_of_calling(const CalledApplication& application, const Options& options, Report& report) {
    const auto all = ways(options.quick);
    std::vector<Contestant> contestants{{"one thread", [&] { return nanoseconds(application, application.serial); }}};
    for (const Way& way : all)
        contestants.push_back({way.name, [&] {
                                   way.machine->call([] {}).wait();  // whoever sleeps wakes
                                   return nanoseconds(application, [&] { application.called(*way.machine); });
                               }});
    const auto result = measure(contestants, options.plan);
    report.conditions(result);
    const std::string prefix = application.name + ": ";
    report.row(prefix + "one thread", {{"median_us", result.median("one thread") / 1000}});
    for (const Way& way : all) {
        const auto faster = result.ratio("one thread", way.name).usual;
        Report::Figures figures{{"median_us", result.median(way.name) / 1000},
                                {"speed_up", faster.value},
                                {"low", faster.low},
                                {"high", faster.high}};
        for (auto& figure : look_at(way, application)) figures.push_back(std::move(figure));
        report.row(prefix + way.name, std::move(figures));
    }
}

}  // namespace bench
