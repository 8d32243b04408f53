#include <algorithm>
#include <penstock/error.hpp>

#include "trace/fields.hpp"

namespace penstock::trace {

namespace {

std::uint64_t less(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : 0; }

/// Reads a counter or a stopwatch into a number.
struct ReadAt {
    std::uint64_t now;
    void operator()(const char*, const Counter& from, std::uint64_t& to) const { to = from.value(); }
    void operator()(const char*, const Stopwatch& from, std::uint64_t& to) const { to = from.value(now); }
};

std::uint64_t end_of(const Track& track, std::uint64_t now) noexcept {
    return track.ended != 0 ? std::min(track.ended, now) : now;
}

}  // namespace

double checked_tick(double nanoseconds_per_tick) {
    if (nanoseconds_per_tick > 0 && nanoseconds_per_tick <= 1e9) return nanoseconds_per_tick;
    throw UsageError("a tick cannot last " + std::to_string(nanoseconds_per_tick) +
                     " ns; give the clock's nanoseconds per tick, above 0 and at most 1e9");
}

Snapshot::Snapshot(std::uint64_t now, double nanoseconds_per_tick)
    : now_(now), nanoseconds_per_tick_(checked_tick(nanoseconds_per_tick)) {}

void Snapshot::add(const Track& track, const InitiatorCounters& counters) {
    InitiatorTotals totals;
    each_initiator_field(counters, totals, ReadAt{now_});
    insert(track, Role::initiator, totals);
}

void Snapshot::add(const Track& track, const TargetCounters& counters) {
    TargetTotals totals;
    each_target_field(counters, totals, ReadAt{now_});
    insert(track, Role::target, totals);
}

void Snapshot::insert(const Track& track, Role role, Totals totals) {
    const char* const noun = role == Role::initiator ? "initiator" : "target";
    if (track.role != role)
        throw UsageError("track " + std::to_string(track.id) + " (" + track.name +
                         ") was added with the counters of an " + "other role; set its role to " + noun);
    const std::uint64_t wall = less(end_of(track, now_), track.started);
    if (!tracks_.try_emplace({role, track.id}, Entry{track, totals, totals, wall}).second)
        throw UsageError(std::string("the snapshot already has a track of ") + noun + " " + std::to_string(track.id) +
                         "; give each its own id");
}

Snapshot operator-(const Snapshot& after, const Snapshot& before) {
    if (before.now_ > after.now_)
        throw UsageError("the snapshot to subtract was taken " + std::to_string(before.now_ - after.now_) +
                         " ticks after the other; write later - earlier");
    if (before.difference_ || after.difference_)
        throw UsageError("a difference of two snapshots cannot be subtracted again; keep the snapshots themselves");
    if (before.nanoseconds_per_tick_ != after.nanoseconds_per_tick_)
        throw UsageError("the snapshots count ticks of " + std::to_string(before.nanoseconds_per_tick_) + " and " +
                         std::to_string(after.nanoseconds_per_tick_) + " ns; take both with one factor");
    Snapshot period = after;
    period.difference_ = true;
    for (auto& [key, entry] : period.tracks_) {
        const std::uint64_t begin = std::max(entry.track.started, before.now_);
        entry.wall_ticks = less(end_of(entry.track, after.now_), begin);
        const auto earlier = before.tracks_.find(key);
        if (earlier == before.tracks_.end() || earlier->second.track.started != entry.track.started) continue;
        each_field(entry.totals, earlier->second.totals,
                   [](const char*, std::uint64_t& now, const std::uint64_t& then) { now = less(now, then); });
    }
    return period;
}

}  // namespace penstock::trace
