#include "stream/edit/past.hpp"

#include "penstock/detail/machine/clock.hpp"

namespace penstock::streaming {

void FilterCounts::add(const Station& station) {
    const auto of = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
    firings += of(station.firings);
    failures += of(station.failures);
    dropped += of(station.dropped);
    lost += of(station.lost);
    made_again += of(station.made_again);
    service_ticks += of(station.service_ticks);
    sampled += of(station.sampled);
    ready_ticks += of(station.ticks_ready);
    input_ticks += station.ticks_spent(Doing::waits_for_input);
    output_ticks += station.ticks_spent(Doing::waits_for_output) + station.ticks_spent(Doing::waits_for_pool);
    lived_ticks += Clock::ticks() - station.born;
}

void StreamCounts::add(const Link& link) {
    buffers += link.buffers_through.load(std::memory_order_relaxed);
    bytes += link.bytes_through.load(std::memory_order_relaxed);
    dropped += link.dropped.load(std::memory_order_relaxed) + link.displaced.load(std::memory_order_relaxed);
}

}  // namespace penstock::streaming
