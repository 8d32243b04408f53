// The counters of many threads at one tick, as plain numbers that can be subtracted to report a phase of a program.
#pragma once

#include <cstdint>
#include <map>
#include <penstock/detail/trace/counters.hpp>
#include <string>
#include <utility>
#include <variant>

namespace penstock::trace {

enum class Role : std::uint8_t { initiator, target };

/// Whose counters or events these are. Initiators and targets are numbered apart; a thread that is both has two tracks.
struct Track {
    Role role = Role::initiator;
    std::uint32_t id = 0;
    std::string name;           ///< for people, UTF-8
    std::uint64_t started = 0;  ///< tick at which the thread took up this role
    std::uint64_t ended = 0;    ///< tick at which it gave it up, 0 while it has not
};

/// What an InitiatorCounters held.
struct InitiatorTotals : InitiatorFields<std::uint64_t, std::uint64_t> {
    /// Calls that went into the initiator's own deque first.
    std::uint64_t deferred() const noexcept { return calls < committed + inlined ? 0 : calls - committed - inlined; }
};

/// What a TargetCounters held.
using TargetTotals = TargetFields<std::uint64_t, std::uint64_t>;

using Totals = std::variant<InitiatorTotals, TargetTotals>;

/// The counters at tick `now`. The writers go on meanwhile: each number is whole, two numbers of one track may lie a
/// task apart. A wait that has not ended is not in it yet; a stall and an idle period are, up to `now`.
class Snapshot {
  public:
    struct Entry {
        Track track;
        Totals totals;   ///< of the period
        Totals history;  ///< since the track started: what an average falls back on when the period has no sample
        std::uint64_t wall_ticks;  ///< how much of the period the track existed
    };

    /// A snapshot taken at tick `now`, of a clock whose tick lasts `nanoseconds_per_tick` (above 0, at most 1e9).
    /// Throws UsageError when it is not.
    Snapshot(std::uint64_t now, double nanoseconds_per_tick);

    /// Adds the counters of one track, from its start to now. Throws UsageError when the track's role is not that of
    /// the counters, or when a track of that role and id is in already.
    void add(const Track& track, const InitiatorCounters& counters);
    void add(const Track& track, const TargetCounters& counters);

    std::uint64_t now() const noexcept { return now_; }
    double nanoseconds_per_tick() const noexcept { return nanoseconds_per_tick_; }

    /// The tracks: initiators first, each role by id.
    const std::map<std::pair<Role, std::uint32_t>, Entry>& tracks() const noexcept { return tracks_; }

    /// What happened between two snapshots: for each track of `after`, its totals less those that `before` has of it. A
    /// track that only `before` knows is left out.
    /// Throws UsageError when `before` is the later one, is a difference itself, or has another tick.
    friend Snapshot operator-(const Snapshot& after, const Snapshot& before);

  private:
    void insert(const Track& track, Role role, Totals totals);

    std::uint64_t now_;
    double nanoseconds_per_tick_;
    bool difference_ = false;
    std::map<std::pair<Role, std::uint32_t>, Entry> tracks_;
};

}  // namespace penstock::trace
