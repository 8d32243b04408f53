#include <algorithm>
#include <array>
#include <cmath>
#include <penstock/detail/trace/breakdown.hpp>

#include "trace/fields.hpp"

namespace penstock::trace {

namespace {

/// What was sampled of something: how many, how long together; of how many it stands for.
struct Sampled {
    std::uint64_t count, samples, ticks;
};

/// An estimated part, before it is fitted into the wall time.
struct Estimate {
    Part part;
    double ticks;
};

double estimate(const Sampled& period, const Sampled& history) noexcept {
    const Sampled& from = period.samples != 0 ? period : history;
    if (from.samples == 0) return 0;
    return static_cast<double>(from.ticks) / static_cast<double>(from.samples) * static_cast<double>(period.count);
}

Sampled calls(const InitiatorTotals& t) { return {t.calls, t.sampled_calls, t.sampled_call_ticks}; }
Sampled waits(const InitiatorTotals& t) { return {t.waits, t.sampled_waits, t.sampled_wait_ticks}; }
Sampled helped(const InitiatorTotals& t) { return {t.helped + t.inlined, t.help_sampled, t.help_ticks_sampled}; }
Sampled bodies(const TargetTotals& t) { return {t.tasks, t.sampled_tasks, t.sampled_compute_ticks}; }
Sampled copies(const TargetTotals& t) { return {t.tasks, t.sampled_tasks, t.sampled_transfer_ticks}; }

/// Lets the bar have the measured part, then the estimates, then the remainder, so that they fill its wall time
/// exactly.
void fill(Bar& bar, Part measured, std::uint64_t measured_ticks, std::vector<Estimate> estimates, Part remainder) {
    std::uint64_t left = bar.wall_ticks;
    auto take = [&bar, &left](Part part, std::uint64_t ticks) {
        ticks = std::min(ticks, left);
        left -= ticks;
        bar.shares.push_back({part, ticks, 0, 0});
    };
    take(measured, measured_ticks);
    double sum = 0;
    for (const Estimate& each : estimates) sum += each.ticks;
    bar.scaled = sum > static_cast<double>(left);
    const double factor = bar.scaled ? static_cast<double>(left) / sum : 1.0;
    for (const Estimate& each : estimates)
        take(each.part, static_cast<std::uint64_t>(std::llround(each.ticks * factor)));
    take(remainder, left);
    std::sort(bar.shares.begin(), bar.shares.end(), [](const Share& a, const Share& b) { return a.part < b.part; });
}

/// From ticks to seconds and percent.
void scale(Bar& bar, double nanoseconds_per_tick) {
    auto seconds = [&](std::uint64_t ticks) { return static_cast<double>(ticks) * nanoseconds_per_tick * 1e-9; };
    bar.wall_seconds = seconds(bar.wall_ticks);
    for (Share& share : bar.shares) {
        share.seconds = seconds(share.ticks);
        share.percent =
            bar.wall_ticks == 0 ? 0 : 100.0 * static_cast<double>(share.ticks) / static_cast<double>(bar.wall_ticks);
    }
}

void fill_initiator(Bar& bar, const InitiatorTotals& totals, const InitiatorTotals& history) {
    bar.samples = totals.sampled_calls + totals.sampled_waits + totals.help_sampled;
    fill(bar, Part::queue_stall, totals.stall_ticks,
         {{Part::runtime, estimate(calls(totals), calls(history))},
          {Part::wait, estimate(waits(totals), waits(history))},
          {Part::helping, estimate(helped(totals), helped(history))}},
         Part::application);
}

void fill_target(Bar& bar, const TargetTotals& totals, const TargetTotals& history) {
    bar.samples = totals.sampled_tasks;
    fill(bar, Part::idle, totals.idle_ticks,
         {{Part::compute, estimate(bodies(totals), bodies(history))},
          {Part::transfer, estimate(copies(totals), copies(history))}},
         Part::library);
}

}  // namespace

std::string_view word(Part part) noexcept {
    static constexpr std::array<std::string_view, 9> words{
        "application", "runtime", "queue stall", "synchronisation wait", "helping", "compute",
        "transfer",    "library", "idle"};
    return words[static_cast<std::size_t>(part)];
}

Breakdown::Breakdown(const Snapshot& period) : nanoseconds_per_tick_(period.nanoseconds_per_tick()) {
    bars_.reserve(period.tracks().size());
    for (const auto& [key, entry] : period.tracks()) {
        Bar& bar = bars_.emplace_back();
        bar.track = entry.track;
        bar.totals = entry.totals;
        bar.wall_ticks = entry.wall_ticks;
        if (key.first == Role::initiator)
            fill_initiator(bar, std::get<InitiatorTotals>(entry.totals), std::get<InitiatorTotals>(entry.history));
        else fill_target(bar, std::get<TargetTotals>(entry.totals), std::get<TargetTotals>(entry.history));
        scale(bar, nanoseconds_per_tick_);
    }
}

Bar Breakdown::all(Role role) const {
    Bar sum;
    sum.track.role = role;
    sum.track.name = "all";
    if (role == Role::target) sum.totals = TargetTotals{};
    for (const Bar& bar : bars_) {
        if (bar.track.role != role) continue;
        if (sum.shares.empty())
            for (const Share& share : bar.shares) sum.shares.push_back({share.part, 0, 0, 0});
        for (std::size_t i = 0; i < bar.shares.size(); ++i) sum.shares[i].ticks += bar.shares[i].ticks;
        each_field(sum.totals, bar.totals,
                   [](const char*, std::uint64_t& to, const std::uint64_t& from) { to += from; });
        sum.wall_ticks += bar.wall_ticks;
        sum.samples += bar.samples;
        sum.scaled = sum.scaled || bar.scaled;
    }
    scale(sum, nanoseconds_per_tick_);
    return sum;
}

}  // namespace penstock::trace
