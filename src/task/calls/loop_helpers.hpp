// task layer, internal: how a thread has targets help with its loops (for_each.cpp): a lane of one record to each,
// beside the lanes of its calls, so that no barrier waits for what was taken back, and the loops that it is in.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "penstock/detail/task/initiator.hpp"
#include "task/calls/loop_shares.hpp"

namespace penstock::loop {

class Loop;

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

    /// Asks a target to run `pieces`, or to take what it finds where there are none. False when it has not done what it
    /// was asked for by a loop around this one. Throws std::bad_alloc.
    bool ask(int target, Loop& loop, Range pieces, void* body);
    /// Of the last thing that the target was asked for. False when it has begun.
    bool take_back(int target) noexcept;
    /// The target has come by. Where it was asked a second time, it may have seen neither: take_back() says it.
    bool done(int target) noexcept;

    /// In a record of such a lane.
    static Offer<Loop>& offer_in(std::byte* line) noexcept;

  private:
    struct Lane;
    void make_lane(Lane& lane, int target);

    Initiator& self_;
    std::vector<Lane> lanes_;  ///< by target
    std::vector<std::unique_ptr<Loop>> loops_;
    std::size_t depth_ = 0;
};

}  // namespace penstock::loop
