#include <iomanip>
#include <sstream>

#include "penstock/detail/machine/clock.hpp"
#include "penstock/stream_statistics.hpp"
#include "stream/far/far_run.hpp"
#include "stream/run/run_state.hpp"

namespace penstock {

namespace streaming {

void FilterCounts::add(const Station& station) {
    const auto of = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
    figures.firings += of(station.firings);
    figures.failures += of(station.failures);
    figures.dropped += of(station.dropped);
    figures.lost += of(station.lost);
    figures.made_again += of(station.made_again);
    service_ticks += of(station.service_ticks);
    sampled += of(station.sampled);
    ready_ticks += of(station.ticks_ready);
    input_ticks += station.ticks_spent(Doing::waits_for_input);
    output_ticks += station.ticks_spent(Doing::waits_for_output) + station.ticks_spent(Doing::waits_for_pool);
    lived_ticks += Clock::ticks() - station.born;
}

void StreamCounts::add(const Link& link) {
    const auto handed = link.right_behind.load(std::memory_order_relaxed);
    buffers += link.buffers_through.load(std::memory_order_relaxed) + handed;
    posted += link.posted.load(std::memory_order_relaxed);
    right_behind += handed;
    bytes += link.bytes_through.load(std::memory_order_relaxed);
    dropped += link.dropped.load(std::memory_order_relaxed) + link.displaced.load(std::memory_order_relaxed);
}

RunStatistics RunState::statistics() {
    auto all = own_statistics();
    if (far != nullptr && far->add_figures) far->add_figures(all);
    return all;
}

std::vector<NodeStatistics> RunState::statistics_by_node() {
    std::vector<NodeStatistics> all;
    if (far != nullptr && far->figures_of_nodes) all = far->figures_of_nodes();
    all.insert(all.begin(), {"program", 1, "", own_statistics()});
    return all;
}

RunStatistics RunState::own_statistics() {
    const std::lock_guard lock(core.structure);
    RunStatistics all;
    all.seconds = std::chrono::duration<double>(end_or_now() - began).count();
    const double ticks_since_end =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - end_or_now()).count() * 1e9 /
        Clock::nanoseconds(1);
    std::map<std::uint64_t, std::size_t> places;
    auto counts = earlier.filters;
    for (const auto& station : core.stations) {
        if (station->retired.load(std::memory_order_relaxed) || station->far != nullptr) continue;
        places.emplace(station->filter_id(), places.size());
        auto& count = counts[station->filter_id()];
        count.add(*station);
        auto& filter = count.figures;
        filter.name = station->name();
        ++filter.copies;
        for (const auto& inlet : station->inlets) filter.waiting += inlet->waiting.load(std::memory_order_relaxed);
        for (const auto& outlet : station->outlets)
            filter.held_back += outlet->held_back.load(std::memory_order_relaxed);
    }
    double highest = 0;
    all.filters.resize(places.size());
    for (const auto& [id, place] : places) {
        const auto& count = counts[id];
        auto& filter = all.filters[place] = count.figures;
        filter.rate = static_cast<double>(filter.firings) / std::max(all.seconds, 1e-9);
        if (count.sampled != 0)
            filter.service_us = Clock::nanoseconds(count.service_ticks) / static_cast<double>(count.sampled) / 1e3;
        // Of the time that its copies have lived, which came and went.
        const double lived = std::max(static_cast<double>(count.lived_ticks) - ticks_since_end * filter.copies, 1.0);
        const auto share = [lived](std::uint64_t ticks) { return static_cast<double>(ticks) / lived; };
        filter.load = static_cast<double>(filter.firings) * filter.service_us * 1e3 / (lived * Clock::nanoseconds(1));
        // Being ready is part of either wait: of input, as far as that goes, and else of output.
        const double ready = share(count.ready_ticks), input = share(count.input_ticks),
                     output = share(count.output_ticks);
        filter.waits_for_target = ready;
        filter.waits_for_input = std::max(0.0, input - ready);
        filter.waits_for_output = std::max(0.0, output - std::max(0.0, ready - input));
        if (filter.load > highest) highest = filter.load, all.bottleneck = filter.name;
    }
    auto streams = earlier.streams;
    for (const auto& link : core.links) streams[link->stream].add(*link);
    for (const auto& [name, link] : wiring.links) {
        auto& count = streams[link->stream];
        count.capacity += link->capacity.load(std::memory_order_relaxed);
        count.sinks = std::max(count.sinks, static_cast<std::uint64_t>(std::get<2>(name)) + 1);
    }
    for (const auto& stream : model.streams) {
        const auto& from = *model.filter(stream.from);
        const auto& to = *model.filter(stream.to);
        auto& each = all.streams.emplace_back();
        each.from = from.name + "." + from.first->outputs[stream.output]->name();
        each.to = to.name + "." + to.first->inputs[stream.input]->name();
        const auto& count = streams[stream.id];
        each.buffers = count.buffers;
        each.posted = count.posted;
        each.right_behind = count.right_behind;
        each.dropped = count.dropped;
        each.capacity =
            static_cast<double>(count.capacity) / static_cast<double>(std::max<std::uint64_t>(count.sinks, 1));
        each.rate = static_cast<double>(each.buffers) / std::max(all.seconds, 1e-9);
        each.bytes_rate = static_cast<double>(count.bytes) / std::max(all.seconds, 1e-9);
    }
    for (const auto& [id, count] : counts)
        if (!places.contains(id)) all.lost += count.figures.dropped;
    return all;
}

}  // namespace streaming

std::string RunStatistics::text() const {
    std::size_t width = 6;
    for (const auto& filter : filters) width = std::max(width, filter.name.size());
    std::ostringstream text;
    text << std::fixed << std::setprecision(2) << std::left << std::setw(static_cast<int>(width)) << "filter"
         << std::right
         << "  copies     firings    a second  service us    load  in wait  out wait  target wait  queue  failed  "
            "dropped\n";
    for (const auto& filter : filters)
        text << std::left << std::setw(static_cast<int>(width)) << filter.name << std::right << std::setw(8)
             << filter.copies << std::setw(12) << filter.firings << std::setw(12) << filter.rate << std::setw(12)
             << filter.service_us << std::setw(8) << filter.load << std::setw(9) << filter.waits_for_input
             << std::setw(10) << filter.waits_for_output << std::setw(13) << filter.waits_for_target << std::setw(7)
             << filter.waiting + filter.held_back << std::setw(8) << filter.failures << std::setw(9) << filter.dropped
             << '\n';
    for (const auto& filter : filters)
        if (filter.lost != 0 || filter.made_again != 0)
            text << filter.name << ": " << filter.lost << " buffers lost with worker processes, made again "
                 << filter.made_again << " times\n";
    if (!bottleneck.empty()) text << "bottleneck: " << bottleneck << '\n';
    return text.str();
}

}  // namespace penstock
