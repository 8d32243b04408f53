// A member's own side: how it comes by its place in a team that nobody forked, and what it has of it.
#pragma once

#include <sched.h>

#include "store/team/control_block.hpp"
#include "store/team/death_watch.hpp"
#include "store/team/exchange.hpp"
#include "store/team/team_socket.hpp"

namespace penstock::team {

/// What the host hands to a member that it admits, as it arrives.
struct Admission {
    int rank = -1;
    int size = 0;
    int processor = -1;
    OwnedDescriptor connection;
    ControlBlock control;
    OwnedDescriptor inbox;
    std::vector<OwnedDescriptor> outboxes;
    std::vector<OwnedDescriptor> processes;
};

/// Finds the host, and comes back with all that it hands over. Throws what Membership says.
Admission ask_for_admission(std::string_view name, const JoinOptions& options);

/// An admission that is used: the member runs.
class Seated {
  public:
    Seated(Admission place, const JoinOptions& options);
    ~Seated();

    Member& member() noexcept { return member_; }
    /// The process that joined: a forked child has not.
    pid_t process() const noexcept { return process_; }
    bool left() const noexcept { return left_; }

    void leave() noexcept;
    void fail(std::string_view what, bool consequence) noexcept;

  private:
    void go(State state) noexcept;

    Admission place_;  ///< less what the exchange and the watch have of it
    ProcessExchange exchange_;
    Member member_;
    DeathWatch watch_;
    pid_t process_;
    bool left_ = false;
    std::optional<cpu_set_t> processors_before_;  ///< of the thread that joined, where it was pinned
    pid_t pinned_ = 0;                            ///< that thread
};

}  // namespace penstock::team
