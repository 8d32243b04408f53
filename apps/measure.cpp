#include "apps/measure.hpp"

#include <chrono>
#include <variant>

#include "penstock/machine.hpp"
#include "penstock/trace.hpp"

namespace penstock::apps {

double seconds_of(const std::function<void()>& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void wake(Machine& machine) {
    for (int target = 0; target < machine.targets(); ++target) machine.on(target).call([] {});
    machine.barrier();
}

std::uint64_t calls_of(const Machine& machine) {
    std::uint64_t calls = 0;
    const auto snapshot = machine.snapshot();
    for (const auto& [track, entry] : snapshot.tracks())
        if (const auto* initiator = std::get_if<trace::InitiatorTotals>(&entry.totals)) calls += initiator->calls;
    return calls;
}

std::vector<Timing> measure(std::span<const Way> ways, int repetitions, const Progress& progress, double from) {
    std::vector<Timing> timings;
    for (const Way& way : ways) timings.push_back({way.name, {}});
    const double steps = static_cast<double>(ways.size()) * (repetitions + 1);
    double done = 0;
    for (int repetition = 0; repetition <= repetitions; ++repetition) {
        for (std::size_t i = 0; i < ways.size(); ++i) {
            const bool timed = repetition > 0;
            ways[i].prepare();
            if (timed && progress.timed) progress.timed(ways[i].name, false);
            const double seconds = ways[i].run();
            if (timed && progress.timed) progress.timed(ways[i].name, true);
            if (timed) timings[i].seconds.push_back(seconds);
            done += 1;
            if (progress.done) progress.done(from + (1 - from) * done / steps);
        }
    }
    return timings;
}

}  // namespace penstock::apps
