// store layer: a team of processes that nobody forked. One of them (or a process that is no member) stands host; the
// others come by the name of the team, each from a program of its own, in another language if need be.
//
//     TeamHost host("radio", 2);                                   // in one program ...
//     host.wait();                                                 // ... returns when all members have ended
//
//     join("radio", {.rank = 1}, [](Rank me) { ... });             // in each member: what spmd would have run
//
// They meet at a Unix socket with an abstract name, so nothing is left in the file system. Its other end is known to
// the kernel: users are checked on both sides before anything is handed over. Members get the seats of all, the ends of
// the sockets over which memory is granted, and a descriptor of every member's process; from then on they need the host
// no more.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "penstock/error.hpp"
#include "penstock/rank.hpp"

namespace penstock {

/// What goes wrong while a team comes together.
class TeamError : public Error {
  public:
    TeamError(std::string team, const std::string& what) : Error(what), team_(std::move(team)) {}
    const std::string& team() const noexcept { return team_; }  ///< its name

  private:
    std::string team_;
};

/// Another host of this user stands under this name.
struct TeamNameTaken : TeamError {
    explicit TeamNameTaken(const std::string& team);
};

/// Nobody stood host for this team within the time, or the host went away before the team was complete.
struct HostMissing : TeamError {
    HostMissing(const std::string& team, const std::string& what);
};

/// The process that stands under the name of this team belongs to another user than the one that was expected.
class WrongHost : public TeamError {
  public:
    WrongHost(const std::string& team, uid_t expected, uid_t actual);
    /// The user who was to run the host.
    uid_t expected() const noexcept { return expected_; }
    /// The user who runs it.
    uid_t actual() const noexcept { return actual_; }

  private:
    uid_t expected_, actual_;
};

/// The host does not take this process into the team.
class JoinRefused : public TeamError {
  public:
    /// Why the host refused.
    enum class Reason : std::uint32_t {
        user,          ///< the host does not admit this user
        rank_taken,    ///< somebody else has the rank that was asked for
        no_such_rank,  ///< the team has no such rank
        size,          ///< the team has another size than the one that was asked for
        complete,      ///< all ranks are taken
        version,       ///< the two programs were built with versions of Penstock that do not understand each other
        namespaces,    ///< the two processes number processes differently (containers), so they cannot watch each other
        resources,     ///< the host has no descriptor left for it
        nonsense,      ///< the host did not understand what was sent
    };

    JoinRefused(const std::string& team, Reason reason, const std::string& what);
    /// Why the host refused.
    Reason reason() const noexcept { return reason_; }

  private:
    Reason reason_;
};

/// Some members did not come within the time. The host is told, and all who came.
class MembersMissing : public TeamError {
  public:
    MembersMissing(const std::string& team, std::vector<int> missing, int size);
    const std::vector<int>& missing() const noexcept { return missing_; }  ///< ranks
    /// Members of the whole team.
    int size() const noexcept { return size_; }

  private:
    std::vector<int> missing_;
    int size_;
};

/// How a team is gathered.
struct HostOptions {
    /// How long all members have to come.
    std::chrono::nanoseconds within = std::chrono::seconds{30};
    /// Users (effective ids) who may join beside the host's own.
    std::vector<uid_t> users = {};
    /// Offer each member a processor of its own, where there are enough of them.
    bool pin = true;
};

namespace team {
class Gathering;
class Seated;

/// Ends a host or a membership, unless this is a child of a fork: there it is the parent's, and its threads are there.
struct EndAtHome {
    void operator()(Gathering* gathering) const noexcept;
    void operator()(Seated* seated) const noexcept;
};
}  // namespace team

/// Brings a team of processes together under a name. Works in a thread of its own; the process may do anything else
/// meanwhile, and may join the team itself. The name is taken until all members have ended or the host is destroyed
/// (and as long as a child that was forked meanwhile lives, unless it has started another program). When it is
/// destroyed before the team is complete, those who came get HostMissing; later, the team goes on without it.
class TeamHost {
  public:
    /// `name`: 1 to 63 bytes, no blanks and no control characters; unique among the teams of this user on this host.
    /// `size`: 1 to 256 members. Throws UsageError, TeamNameTaken, SystemError (descriptors: about 4 for each member).
    TeamHost(std::string_view name, int size, HostOptions options = {});

    /// The team's.
    const std::string& name() const noexcept;
    /// Members of the whole team.
    int size() const noexcept;
    /// How many members have been admitted, and were there when the host looked last.
    int present() const noexcept;
    /// Have all come, so that the team runs or has run?
    bool complete() const noexcept;

    /// Returns when all members have ended. Throws as spmd does: RankDied when the process of a member died, RankFailed
    /// with the text of the first exception that ended a member; MembersMissing when the team was never complete.
    void wait();
    /// As wait(), but gives up after `limit`. False when it gave up.
    [[nodiscard]] bool wait_for(std::chrono::nanoseconds limit);

  private:
    std::unique_ptr<team::Gathering, team::EndAtHome> gathering_;
};

/// Whatever rank is free.
inline constexpr int any_rank = -1;

/// How a program joins a team.
struct JoinOptions {
    /// The rank to be, or any that is free: the lowest.
    int rank = any_rank;
    /// The size that the team must have; 0: any.
    int size = 0;
    /// How long to look for the host. How long the others may take to come is the host's to say.
    std::chrono::nanoseconds within = std::chrono::seconds{10};
    /// The user (effective id) whose host it must be; nothing: one's own.
    std::optional<uid_t> owner = std::nullopt;
    /// How long accept() waits for a grant unless it is told otherwise.
    std::chrono::nanoseconds accept_within = std::chrono::seconds{10};
    /// Pin the calling thread to the processor that the host offers, until it leaves.
    bool pin = true;
    /// Called about every 50 ms while joining waits; what it throws ends the joining.
    std::function<void()> meanwhile = {};
};

/// This process's place in a team, for as long as this lives. Made and used by one thread; a process may have several,
/// each in a thread of its own. In a forked child it is nothing. A thread watches the processes of the other members
/// meanwhile.
class Membership {
  public:
    /// Joins, and waits until all others have come. Throws UsageError, HostMissing, WrongHost, JoinRefused,
    /// MembersMissing, SystemError (descriptors: 2 for each member of the team and a few).
    explicit Membership(std::string_view name, JoinOptions options = {});
    /// Leaves, unless that was done: as failed when an exception is on its way.
    ~Membership();
    Membership(Membership&& other) noexcept;
    Membership& operator=(Membership&& other) noexcept;

    /// For use until this is destroyed. Throws UsageError once it was left, or in a forked child.
    Rank rank() const;

    /// This member has come to the end of its work. A second call does nothing.
    void leave() noexcept;
    /// This member was ended by `cause`, which the others and the host are told of.
    void fail(const std::exception_ptr& cause) noexcept;
    /// As above, in words; `consequence`: only because another member was gone.
    void fail(std::string_view what, bool consequence = false) noexcept;

  private:
    std::unique_ptr<team::Seated, team::EndAtHome> seated_;
    int exceptions_ = 0;  ///< on their way when it was made
};

/// Joins the team `name`, runs `function(rank)` as a member, leaves, and returns what the function returned. What it
/// throws is thrown here too, after the others were told. Throws beside that what Membership's constructor does.
template <class Function>
std::invoke_result_t<Function&, Rank> join(std::string_view name, JoinOptions options, Function&& function) {
    Membership membership(name, std::move(options));
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<Function&, Rank>>) {
            std::invoke(function, membership.rank());
            membership.leave();
        } else {
            auto result = std::invoke(function, membership.rank());
            membership.leave();
            return result;
        }
    } catch (...) {
        membership.fail(std::current_exception());
        throw;
    }
}

}  // namespace penstock
