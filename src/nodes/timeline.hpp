// What the threads of all nodes did and when, on one clock.
//
// Clocks of two machines differ in where they begin and in how fast they run. The program asks each node for its tick,
// several times; of the answer that came soonest it takes that it was given half way. It does so when a recording
// begins and when it is taken, and what lies between is in proportion. So no time is wrong by more than half of the
// longer of the two round trips.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "nodes/messages.hpp"
#include "trace/processes.hpp"

namespace penstock {
class Machine;
}

namespace penstock::nodes {

/// When it was where.
struct ClockPair {
    std::uint64_t here = 0, there = 0;  ///< ticks
    std::uint64_t round_trip = std::numeric_limits<std::uint64_t>::max();
    bool known() const noexcept { return round_trip != std::numeric_limits<std::uint64_t>::max(); }
};

/// One node's clock beside the program's.
class NodeClock {
  public:
    static constexpr int questions = 16;

    /// Begins to ask. `again`: the recording is taken.
    void begin(bool again) noexcept {
        (again ? last_ : first_) = {};
        again_ = again;
        left_ = questions;
    }
    /// A question goes out now. False: one is under way, whose answer will do.
    bool ask(std::uint64_t now) noexcept {
        if (asked_ != 0) return false;
        asked_ = now;
        return true;
    }
    /// Throws Error for an answer to no question.
    void answered(std::uint64_t asked, std::uint64_t there, std::uint64_t now);
    bool asks() const noexcept { return left_ != 0; }
    bool known() const noexcept { return last_.known(); }
    std::uint64_t here(std::uint64_t there) const noexcept;
    /// Ticks by which here() may be wrong.
    std::uint64_t bound() const noexcept;

  private:
    ClockPair first_{}, last_{};
    bool again_ = false;
    int left_ = 0;
    std::uint64_t asked_ = 0;  ///< when, by a question that is under way; else 0
};

/// What this process has recorded. Any thread.
TimelinePart timeline_part_of(Machine& machine);
/// The same on the program's clock.
trace::TimelineProcess process_of(const std::string& name, const TimelinePart& part, const NodeClock& clock);
/// The program's own.
trace::TimelineProcess process_of(Machine& program);

}  // namespace penstock::nodes
