#include "store/team_socket.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "store/local_address.hpp"

namespace penstock::team {
namespace {

constexpr int peer_pidfd = 77;  // SO_PEERPIDFD, Linux 6.5
constexpr int waiting_guests = 128;

void check_team_name(std::string_view name) {
    if (!LocalAddress::takes(name, longest_name))
        throw UsageError("'" + std::string(name.substr(0, 80)) + "' cannot be the name of a team: it has 1 to " +
                         std::to_string(longest_name) + " bytes, no blanks and no control characters");
}

constexpr const char* space = "penstock";
static_assert(longest_name <= LocalAddress::longest_name);

OwnedDescriptor seqpacket_socket() {
    OwnedDescriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made) throw SystemError("cannot make the socket at which a team meets", errno);
    return made;
}

}  // namespace

OwnedDescriptor stand_at(std::string_view name) {
    check_team_name(name);
    auto listening = seqpacket_socket();
    const LocalAddress address(space, name, geteuid());
    if (bind(listening.get(), address.get(), address.length) != 0) {
        if (errno == EADDRINUSE) throw TeamNameTaken(std::string(name));
        throw SystemError("cannot stand host for team '" + std::string(name) + "'", errno);
    }
    if (listen(listening.get(), waiting_guests) != 0)
        throw SystemError("cannot stand host for team '" + std::string(name) + "'", errno);
    return listening;
}

OwnedDescriptor connect_to(std::string_view name, uid_t owner) {
    check_team_name(name);
    auto connection = seqpacket_socket();
    const LocalAddress address(space, name, owner);
    if (connect(connection.get(), address.get(), address.length) == 0) return connection;
    for (const int passing : {ECONNREFUSED, EAGAIN, EINTR, EINPROGRESS, ECONNRESET})
        if (errno == passing) return {};
    throw SystemError("cannot connect to the host of team '" + std::string(name) + "'", errno);
}

ucred peer_of(int connection) {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        throw SystemError("cannot ask the kernel who is at the other end of a socket", errno);
    return peer;
}

OwnedDescriptor process_of(int connection, pid_t process) {
    int number = -1;
    socklen_t length = sizeof number;
    if (getsockopt(connection, SOL_SOCKET, peer_pidfd, &number, &length) == 0) return OwnedDescriptor(number);
    if (errno == EMFILE || errno == ENFILE) throw SystemError("cannot watch a process that joins a team", errno);
    // An older kernel (or it has ended). What a number leads to is the right process if its connection stands afterwards.
    OwnedDescriptor opened(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
    if (!opened) {
        if (errno == ESRCH || errno == EINVAL) return {};
        throw SystemError("cannot watch a process that joins a team", errno);
    }
    pollfd entry{connection, 0, 0};
    return poll(&entry, 1, 0) == 0 ? std::move(opened) : OwnedDescriptor();
}

}  // namespace penstock::team
