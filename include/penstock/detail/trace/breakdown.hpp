// Where the time of each thread went, in the parts of the TPC paper: for an initiator application, runtime, queue
// stall, synchronisation wait and helping; for a target compute, transfer, library, idle.
//
// Stalls and idle time are measured. Runtime, wait, helping, compute and transfer (copies into the local store and
// back) are estimates: the mean of the sampled ones times the exact count, or, when the period holds no sample, the
// mean since the track started. The remainder is the application's (initiator) or the library's (target). The parts of
// a track always add up to its wall time: when the estimates exceed what the measured parts leave, they are scaled down
// and the bar says so.
#pragma once

#include <cstdint>
#include <penstock/detail/trace/snapshot.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::trace {

enum class Part : std::uint8_t { application, runtime, queue_stall, wait, helping, compute, transfer, library, idle };

/// The part in words: "queue stall", "synchronisation wait", ...
std::string_view word(Part part) noexcept;

/// One part of a track's time.
struct Share {
    Part part;
    std::uint64_t ticks;
    double seconds;
    double percent;  ///< of the track's wall time; 0 when that is 0
};

/// The time of one track, or of all tracks of a role together.
struct Bar {
    Track track;
    Totals totals;
    std::uint64_t wall_ticks = 0;
    double wall_seconds = 0;
    std::vector<Share> shares;  ///< in the order of Part; their ticks add up to wall_ticks exactly
    std::uint64_t samples = 0;  ///< durations that the estimates rest on; few samples, rough estimates
    bool scaled = false;        ///< the estimates were more than the wall time left, and were scaled down
};

/// The breakdown of a snapshot, or of the difference of two.
class Breakdown {
  public:
    explicit Breakdown(const Snapshot& period);

    /// The tracks: initiators first, each role by id. Of a temporary by value, so that a loop over it is safe.
    const std::vector<Bar>& bars() const& noexcept { return bars_; }
    std::vector<Bar> bars() && noexcept { return std::move(bars_); }

    /// All tracks of a role added up, with the name "all"; without shares when there is no such track.
    Bar all(Role role) const;

    double nanoseconds_per_tick() const noexcept { return nanoseconds_per_tick_; }

  private:
    double nanoseconds_per_tick_;
    std::vector<Bar> bars_;
};

}  // namespace penstock::trace
