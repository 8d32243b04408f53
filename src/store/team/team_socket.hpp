// Where the members of a team that nobody forked meet, and what is said there.
//
// A member connects and says Hello. The host answers with one HostReply: admitted or refused. When all have been
// admitted, or the time is over, another HostReply comes: who is missing, or the first of the parts (descriptors) of
// which a place in the team consists. The member confirms each part by one byte, and the next comes, so that no more
// descriptors are under way than one slow member may hold up. Afterwards nothing is said; the member closes its end
// when it leaves.
//
// Nothing that arrives is trusted: users and processes are those that the kernel names, everything else is checked.
#pragma once

#include "penstock/join.hpp"
#include "process/descriptor_message.hpp"
#include "store/team/team.hpp"

namespace penstock::team {

/// Changed whenever two programs of different versions could no longer share a team.
inline constexpr std::uint32_t join_version = 1;

struct Hello {
    static constexpr std::uint64_t valid = 0x314c4548534e4550;  // "PENSHEL1"
    std::uint64_t magic = valid;
    std::uint32_t version = join_version;
    std::uint32_t seat_bytes = sizeof(Seat);
    std::uint32_t report_bytes = sizeof(EndRecord);
    std::int32_t process = 0;  ///< its number, as the member knows it
    std::int32_t rank = any_rank;
    std::int32_t size = 0;
};

enum class Subject : std::uint32_t { admitted, refused, missing, control, outboxes, processes };

struct HostReply {
    static constexpr std::uint64_t valid = 0x31544f4e534e4550;  // "PENSNOT1"
    std::uint64_t magic = valid;
    Subject subject = Subject::refused;
    std::int32_t rank = -1;
    std::int32_t size = 0;
    std::int32_t processor = -1;                           ///< that the host offers; -1: none
    JoinRefused::Reason reason{};                          ///< of a refusal
    std::uint32_t first = 0;                               ///< of a part: the rank whose descriptor comes first
    std::int64_t within = 0;                               ///< ns until the host gives up
    std::array<std::uint64_t, most_ranks / 64> missing{};  ///< a bit for each rank
};

/// The socket of the host of team `name`. Throws UsageError for a name that cannot be, TeamNameTaken, SystemError.
OwnedDescriptor stand_at(std::string_view name);

/// A connection to the host of `name` that runs as `owner`; none when nobody stands there just now. Throws UsageError,
/// SystemError.
OwnedDescriptor connect_to(std::string_view name, uid_t owner);

}  // namespace penstock::team
