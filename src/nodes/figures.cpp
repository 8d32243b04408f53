#include "nodes/figures.hpp"

#include <cmath>
#include <ranges>

namespace penstock::nodes {
namespace {

void check_amounts(std::initializer_list<double> amounts) {
    for (const double each : amounts)
        if (!std::isfinite(each) || each < 0) throw Error("a node's figures are no amounts");
}

/// As its own statistics.
RunStatistics statistics_of(const Figures& figures) {
    RunStatistics made;
    for (const auto& [from, to, more] : std::get<2>(figures)) {
        auto& stream = made.streams.emplace_back();
        stream.from = from;
        stream.to = to;
    }
    add(made, {{1, figures}});
    return made;
}

}  // namespace

void check(const Figures& figures, const std::map<std::string, std::int64_t>& filters) {
    for (const auto& [name, each] : std::get<1>(figures)) {
        const auto found = filters.find(name);
        if (found == filters.end() || each.copies < 1 || each.copies > found->second)
            throw Error("a node has figures of copies of a filter that it does not have");
        check_amounts({each.rate, each.service_us, each.load, each.waits_for_input, each.waits_for_output,
                       each.waits_for_target});
    }
    for (const auto& [from, to, each] : std::get<2>(figures))
        check_amounts({each.rate, each.bytes_rate, each.capacity});
}

void PartFigures::begin(wire::Site site, const std::string& node, std::uint32_t generation) {
    const std::lock_guard guard(lock_);
    all_[site].push_back({{.node = node, .generation = generation}, std::nullopt});
}

void PartFigures::set(wire::Site site, Figures figures) {
    const std::lock_guard guard(lock_);
    if (auto& agents = all_[site]; !agents.empty()) agents.back().said = std::move(figures);
}

void PartFigures::lost(wire::Site site, const std::string& how) {
    const std::lock_guard guard(lock_);
    if (auto& agents = all_[site]; !agents.empty() && agents.back().of.lost.empty()) agents.back().of.lost = how;
}

std::map<wire::Site, Figures> PartFigures::all() const {
    const std::lock_guard guard(lock_);
    std::map<wire::Site, Figures> last;
    for (const auto& [site, agents] : all_)
        for (const auto& agent : agents)
            if (agent.said) last[site] = *agent.said;
    return last;
}

std::vector<NodeStatistics> PartFigures::by_node() const {
    const std::lock_guard guard(lock_);
    std::vector<NodeStatistics> made;
    for (const auto& [site, agents] : all_)
        for (const auto& agent : std::views::reverse(agents)) {
            made.push_back(agent.of);
            if (agent.said) made.back().figures = statistics_of(*agent.said);
        }
    return made;
}

Figures figures_of(streaming::RunState& state) {
    Figures made;
    auto& [movement, filters, streams, report] = made;
    movement = {state.core.progress(), state.far->frames_sent(), state.far->frames_come(), state.core.settled()};
    const auto all = state.statistics();
    for (const auto& each : all.filters)
        if (each.copies != 0)
            filters.emplace_back(each.name, FilterFigures{each.firings, each.failures, each.dropped, each.lost,
                                                          each.made_again, each.waiting, each.held_back, each.copies,
                                                          each.rate, each.service_us, each.load, each.waits_for_input,
                                                          each.waits_for_output, each.waits_for_target});
    for (const auto& each : all.streams)
        streams.emplace_back(each.from, each.to,
                             StreamFigures{each.buffers, each.posted, each.right_behind, each.dropped, each.rate,
                                           each.bytes_rate, each.capacity});
    report = state.core.report();
    return made;
}

void add(RunStatistics& all, const std::map<wire::Site, Figures>& parts) {
    for (const auto& [site, figures] : parts) {
        for (const auto& [name, more] : std::get<1>(figures)) {
            auto found = std::ranges::find(all.filters, name, &FilterStatistics::name);
            if (found == all.filters.end()) {
                FilterStatistics fresh;
                fresh.name = name;
                found = all.filters.insert(all.filters.end(), fresh);
            }
            auto& sum = *found;
            const double before = sum.copies, with = more.copies, both = std::max(before + with, 1.0);
            const auto mean = [&](double one, double other) { return (one * before + other * with) / both; };
            if (more.service_us != 0)
                sum.service_us = sum.service_us == 0 ? more.service_us : mean(sum.service_us, more.service_us);
            sum.load = mean(sum.load, more.load);
            sum.waits_for_input = mean(sum.waits_for_input, more.waits_for_input);
            sum.waits_for_output = mean(sum.waits_for_output, more.waits_for_output);
            sum.waits_for_target = mean(sum.waits_for_target, more.waits_for_target);
            sum.copies += static_cast<int>(more.copies);
            sum.firings += more.firings;
            sum.failures += more.failures;
            sum.dropped += more.dropped;
            sum.lost += more.lost;
            sum.made_again += more.made_again;
            sum.waiting += more.waiting;
            sum.held_back += more.held_back;
            sum.rate += more.rate;
        }
        for (const auto& [from, to, more] : std::get<2>(figures)) {
            const auto found =
                std::ranges::find_if(all.streams, [&](const auto& each) { return each.from == from && each.to == to; });
            if (found == all.streams.end()) continue;
            found->buffers += more.buffers;
            found->posted += more.posted;
            found->right_behind += more.right_behind;
            found->dropped += more.dropped;
            found->rate += more.rate;
            found->bytes_rate += more.bytes_rate;
            found->capacity = std::max(found->capacity, more.capacity);
        }
    }
    double highest = 0;
    for (const auto& each : all.filters)
        if (each.load > highest) highest = each.load, all.bottleneck = each.name;
}

}  // namespace penstock::nodes
