// One process at the door of a team, as its host sees it: from its connection to its place.
#pragma once

#include "store/team/control_block.hpp"
#include "store/team/exchange.hpp"
#include "store/team/team_socket.hpp"

namespace penstock::team {

/// What the host hands out. All of it is made before anybody comes, so that a lack of descriptors is an error there.
struct Hoard {
    ControlBlock control;
    ProcessExchange::Boxes boxes;
    std::vector<OwnedDescriptor> processes;  ///< pidfds of those admitted, by rank

    explicit Hoard(int size) : control(size), boxes(size), processes(static_cast<std::size_t>(size)) {}
};

/// What one connection is about. Its socket never blocks, so no guest holds up another.
class Guest {
  public:
    using Time = std::chrono::steady_clock::time_point;
    enum class Stage {
        greeting,  ///< has not said Hello yet
        refused,   ///< has been told so; its end is waited for, as what it has not read yet would be lost
        admitted,  ///< waits for the others
        starting,  ///< is being handed its place, part by part
        seated,    ///< has its place
        gone,      ///< can be forgotten
    };

    Guest(OwnedDescriptor connection, ucred peer, int team_size, Time until)
        : connection_(std::move(connection)), peer_(peer), team_size_(team_size), until_(until) {}

    int connection() const noexcept { return connection_.get(); }
    const ucred& peer() const noexcept { return peer_; }
    Stage stage() const noexcept { return stage_; }
    int rank() const noexcept { return rank_; }
    /// When something is to be done about it if nothing happens before.
    Time until() const noexcept { return until_; }
    bool listens() const noexcept { return stage_ != Stage::seated && stage_ != Stage::gone; }

    /// Its Hello, once it has come; marks it gone when it was closed.
    std::optional<Hello> hear_hello();
    /// Throws away whatever it says.
    void ignore();
    /// Reads confirmations. False when it said something else.
    bool hear_confirmation();

    void refuse(JoinRefused::Reason reason, Time until);
    void admit(int rank, const HostReply& notice);
    /// What does not fit into its empty socket is for nobody.
    void say(const HostReply& notice);

    /// All have come: hands over the first part.
    void start(const Hoard& hoard, Time until);
    /// Hands over the next part, if it is time for it.
    void hand_over(const Hoard& hoard);
    /// Could the next part not be sent just now, for a reason that passes?
    bool blocked() const noexcept { return blocked_; }

    void forget() noexcept;

  private:
    std::optional<std::size_t> receive(std::span<std::byte> text);

    OwnedDescriptor connection_;
    ucred peer_;
    int team_size_;
    Time until_;
    Stage stage_ = Stage::greeting;
    int rank_ = -1;
    std::size_t part_ = 0;  ///< that it has, or that is under way to it
    bool under_way_ = false;
    bool blocked_ = false;
};

}  // namespace penstock::team
