// How many buffers a link between nodes has room for.
//
// A credit is half a round trip old when it arrives, so there is room for more than the stream's capacity. A round is
// the time from a buffer that is sent to the credit for it. What was taken during one, in the proportion of the
// shortest round to this one, is what the line itself holds (bandwidth times delay): the rest waits at the reader.
// While the writer has no room and the reader runs dry, there is room for twice that, so that it doubles with each
// round until the line is full; where the reader sets the pace, it falls to that again.
//
// The shortest round shows the line's own time only if at one time nothing waited at the reader. A reader that begins
// late, or a busy machine, makes the first rounds long, and behind a queue that never empties all later ones are long
// too. So where the reader sets the pace and the room is what it should be by the shortest round, it falls all the
// same, by a quarter at a time. Where that shows a shorter round, the room follows it; where the reader runs dry, the
// shortest round was right, and the next such fall comes twice as late. (BBR lowers what is under way for the same
// reason: Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016.)
//
// A line that becomes longer while the graph runs is not followed: no shorter round will come. A reader that runs dry
// while the writer has no room does not show it, since it may lack another of its inputs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace penstock::streaming {

/// The writer's; under the far station's lock.
class Window {
  public:
    using Time = std::chrono::steady_clock::time_point;
    /// Buffers.
    struct Limits {
        std::uint64_t least, most;
    };

    /// Is a round measured? Else the next buffer begins one.
    bool measures() const noexcept { return last_ != 0; }
    /// The buffer that is sent now is the last of so many, of which so many have been taken.
    void begin_round(std::uint64_t posted, std::uint64_t taken, Time now) noexcept {
        last_ = posted;
        taken_ = taken;
        began_ = now;
    }

    /// A credit says that so many have been taken, `before` until now, and how often the reader has run dry. The room
    /// from now on, where it was `room`.
    std::uint64_t credit(std::uint64_t posted, std::uint64_t before, std::uint64_t taken, std::uint64_t ran_dry,
                         std::uint64_t room, Limits limits, auto now) noexcept {
        full_ = full_ || posted - before >= room;
        if (!measures() || taken < last_) return room;
        const auto time = std::max<std::chrono::nanoseconds>(now() - began_, std::chrono::nanoseconds(1));
        shortest_ = std::min(shortest_, time);
        const double part = static_cast<double>(shortest_.count()) / static_cast<double>(time.count());
        const auto holds = 1 + static_cast<std::uint64_t>(static_cast<double>(taken - taken_) * part);
        const auto wished = std::clamp(2 * holds, limits.least, limits.most);
        const bool dry = std::exchange(ran_dry_, ran_dry) != ran_dry;
        const bool full = std::exchange(full_, false);
        last_ = 0;
        slack_ = full && !dry ? slack_ + 1 : 0;
        if (full && dry) {
            if (std::exchange(lowered_, false)) patience_ = std::min(2 * patience_, most_patience);
            return std::max(wished, room);
        }
        if (wished < room) {
            if (slack_ < least_patience) return room;
            patience_ = least_patience;
            lowered_ = false;
            return wished;
        }
        if (slack_ < patience_ || room <= limits.least) return room;
        slack_ = 0;
        lowered_ = true;
        return std::max(room - room / 4, limits.least);
    }

  private:
    static constexpr int least_patience = 8, most_patience = 1024;  ///< rounds

    Time began_{};
    std::uint64_t last_ = 0;  ///< the round ends when so many have been taken; 0: none is measured
    std::uint64_t taken_ = 0, ran_dry_ = 0;
    bool full_ = false;              ///< the writer had no room meanwhile
    int slack_ = 0;                  ///< rounds in a row in which it had none, and the reader did not run dry
    int patience_ = least_patience;  ///< slack before the room falls below what the shortest round asks for
    bool lowered_ = false;           ///< it has, and the reader has not run dry since
    std::chrono::nanoseconds shortest_{std::chrono::nanoseconds::max()};
};

}  // namespace penstock::streaming
