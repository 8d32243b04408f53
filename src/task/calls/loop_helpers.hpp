// task layer, internal: how a thread has targets help with its loops (for_each.cpp): a lane to each, beside the lanes
// of its calls, so that no barrier waits for what was taken back, and the loops that it is in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "penstock/detail/task/initiator.hpp"
#include "penstock/for_each.hpp"
#include "task/calls/loop_shares.hpp"

namespace penstock::loop {

class Loop;

/// What a target was asked for.
struct Asked {
    bool open = false;  ///< nothing is known of its end
    Range pieces;       ///< of its part, or none
    Ticket ticket;
    std::uint64_t number = 0;
    bool made_anew = false;  ///< in a record that the target may have passed
};

/// One for each initiator, made at its first loop. For its thread alone.
class Helpers {
  public:
    explicit Helpers(Initiator& self);
    ~Helpers();
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;

    /// The next loop inside those that run. Throws std::bad_alloc.
    Loop& enter();
    void leave() noexcept { --depth_; }
    /// The targets, from the one behind that which was named last: it has something else to do, or it is another's
    /// turn.
    int in_turn(int number) const noexcept { return (first_ + number) % self_.target_count(); }
    void begin_behind(int target) noexcept { first_ = target + 1 >= self_.target_count() ? 0 : target + 1; }
    /// Visits targets, another one first each time, until `visit` says false: those that seem to have nothing to do,
    /// then those that have done what they were asked for, then the others.
    void each_target(const std::function<bool(int)>& visit);

    // `asked`: of the target. False when it cannot be asked now. The first time both may throw what making a lane does.
    /// To run its part: not when it has not come by since it was asked last, or sleeps.
    bool ask(int target, Asked& asked, const Body& body, const Part& part);
    /// To take part: not when loops around this one have asked for as much as it can be asked for.
    bool ask(int target, Asked& asked, Loop& loop);
    /// False when it has begun.
    bool take_back(int target, const Asked& asked) noexcept;
    /// The target has come by.
    bool done(int target, const Asked& asked) noexcept;
    /// Behind done(): it has not seen what it was asked for, which it was while it looked at what was taken back.
    bool passed(int target, const Asked& asked) noexcept { return asked.made_anew && take_back(target, asked); }

  private:
    struct Lane;
    Lane& lane_to(int target);
    void publish(Lane& lane, Asked& asked) noexcept;

    Initiator& self_;
    std::vector<Lane> lanes_;  ///< by target
    std::vector<std::unique_ptr<Loop>> loops_;
    std::size_t depth_ = 0;
    int first_ = 0;
};

}  // namespace penstock::loop
