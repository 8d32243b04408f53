#include "penstock/stream_statistics.hpp"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <map>
#include <sstream>

#include "penstock/clock.hpp"
#include "stream/run_state.hpp"

namespace penstock {

using streaming::Doing;

RunStatistics Run::statistics() const { return state_->statistics(); }

RunStatistics streaming::RunState::statistics() {
    const std::lock_guard lock(core.structure);
    RunStatistics all;
    all.seconds = std::chrono::duration<double>(end_or_now() - began).count();
    const auto ns_of_run = std::max(all.seconds * 1e9, 1.0);
    std::map<std::uint64_t, std::size_t> places;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> timed;  // ticks, firings
    for (const auto& station : core.stations) {
        if (station->retired.load(std::memory_order_relaxed)) continue;
        const auto [place, fresh] = places.emplace(station->filter_id(), all.filters.size());
        if (fresh) all.filters.push_back({.name = station->name()});
        auto& filter = all.filters[place->second];
        ++filter.copies;
        filter.firings += station->firings.load(std::memory_order_relaxed);
        filter.failures += station->failures.load(std::memory_order_relaxed);
        filter.dropped += station->dropped.load(std::memory_order_relaxed);
        for (const auto& inlet : station->inlets) filter.waiting += inlet->waiting.load(std::memory_order_relaxed);
        for (const auto& outlet : station->outlets) filter.held_back += outlet->held_back.load(std::memory_order_relaxed);
        timed[station->filter_id()].first += station->service_ticks.load(std::memory_order_relaxed);
        timed[station->filter_id()].second += station->sampled.load(std::memory_order_relaxed);
        const auto share = [&](std::uint64_t ticks) { return Clock::nanoseconds(ticks) / ns_of_run; };
        const auto ready = share(station->ticks_ready.load(std::memory_order_relaxed));
        filter.waits_for_target += ready;
        // Being ready is part of either wait: of input, as far as that goes, and else of output.
        const auto input = share(station->ticks_spent(Doing::waits_for_input));
        const auto output = share(station->ticks_spent(Doing::waits_for_output)) + share(station->ticks_spent(Doing::waits_for_pool));
        filter.waits_for_input += std::max(0.0, input - ready);
        filter.waits_for_output += std::max(0.0, output - std::max(0.0, ready - input));
    }
    double highest = 0;
    for (const auto& [id, place] : places) {
        auto& filter = all.filters[place];
        filter.rate = static_cast<double>(filter.firings) / std::max(all.seconds, 1e-9);
        if (const auto [ticks, firings] = timed[id]; firings != 0) filter.service_us = Clock::nanoseconds(ticks) / static_cast<double>(firings) / 1e3;
        filter.load = filter.rate * filter.service_us / 1e6 / filter.copies;
        for (double* const each : {&filter.waits_for_input, &filter.waits_for_output, &filter.waits_for_target}) *each /= filter.copies;
        if (filter.load > highest) highest = filter.load, all.bottleneck = filter.name;
    }
    for (const auto& stream : model.streams) {
        const auto& from = *model.filter(stream.from);
        const auto& to = *model.filter(stream.to);
        StreamStatistics each;
        each.from = from.name + "." + from.first->outputs[stream.output]->name();
        each.to = to.name + "." + to.first->inputs[stream.input]->name();
        std::uint64_t bytes = 0;
        for (auto found = wiring.links.lower_bound({stream.id, 0, 0}); found != wiring.links.end(); ++found) {
            const auto& [name, link] = *found;
            if (std::get<0>(name) != stream.id) break;
            each.buffers += link->buffers_through.load(std::memory_order_relaxed);
            each.dropped += link->dropped + link->displaced;
            bytes += link->bytes_through.load(std::memory_order_relaxed);
        }
        each.rate = static_cast<double>(each.buffers) / std::max(all.seconds, 1e-9);
        each.bytes_rate = static_cast<double>(bytes) / std::max(all.seconds, 1e-9);
        all.streams.push_back(std::move(each));
    }
    all.lost = core.lost();
    return all;
}

std::string RunStatistics::text() const {
    std::size_t width = 6;
    for (const auto& filter : filters) width = std::max(width, filter.name.size());
    std::ostringstream text;
    text << std::fixed << std::setprecision(2) << std::left << std::setw(static_cast<int>(width)) << "filter" << std::right
         << "  copies     firings    a second  service us    load  in wait  out wait  target wait  queue  failed  dropped\n";
    for (const auto& filter : filters)
        text << std::left << std::setw(static_cast<int>(width)) << filter.name << std::right << std::setw(8) << filter.copies << std::setw(12)
             << filter.firings << std::setw(12) << filter.rate << std::setw(12) << filter.service_us << std::setw(8) << filter.load << std::setw(9)
             << filter.waits_for_input << std::setw(10) << filter.waits_for_output << std::setw(13) << filter.waits_for_target << std::setw(7)
             << filter.waiting + filter.held_back << std::setw(8) << filter.failures << std::setw(9) << filter.dropped << '\n';
    if (!bottleneck.empty()) text << "bottleneck: " << bottleneck << '\n';
    return text.str();
}

}  // namespace penstock
