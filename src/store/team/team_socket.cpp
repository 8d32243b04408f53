#include "store/team/team_socket.hpp"

#include <cerrno>
#include <cstring>

#include "process/local_socket.hpp"

namespace penstock::team {
namespace {

constexpr int waiting_guests = 128;

void check_team_name(std::string_view name) {
    if (!process::LocalAddress::takes(name, longest_name))
        throw UsageError("'" + std::string(name.substr(0, 80)) + "' cannot be the name of a team: it has 1 to " +
                         std::to_string(longest_name) + " bytes, no blanks and no control characters");
}

constexpr const char* space = "penstock";
static_assert(longest_name <= process::LocalAddress::longest_name);

OwnedDescriptor seqpacket_socket() {
    OwnedDescriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made) throw SystemError("cannot make the socket at which a team meets", errno);
    return made;
}

}  // namespace

OwnedDescriptor stand_at(std::string_view name) {
    check_team_name(name);
    auto listening = seqpacket_socket();
    const process::LocalAddress address(space, name, geteuid());
    const bool bound = bind(listening.get(), address.get(), address.length) == 0;
    if (!bound && errno == EADDRINUSE) throw TeamNameTaken(std::string(name));
    if (!bound || listen(listening.get(), waiting_guests) != 0)
        throw SystemError("cannot stand host for team '" + std::string(name) + "'", errno);
    return listening;
}

OwnedDescriptor connect_to(std::string_view name, uid_t owner) {
    check_team_name(name);
    auto connection = seqpacket_socket();
    const process::LocalAddress address(space, name, owner);
    if (connect(connection.get(), address.get(), address.length) == 0) return connection;
    for (const int passing : {ECONNREFUSED, EAGAIN, EINTR, EINPROGRESS, ECONNRESET})
        if (errno == passing) return {};
    throw SystemError("cannot connect to the host of team '" + std::string(name) + "'", errno);
}

}  // namespace penstock::team
