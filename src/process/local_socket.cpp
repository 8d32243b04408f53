#include "process/local_socket.hpp"

#include <poll.h>

#include <cerrno>

#include "penstock/error.hpp"
#include "process/children.hpp"

namespace penstock::process {
namespace {

constexpr int peer_pidfd = 77;  // SO_PEERPIDFD, Linux 6.5

}  // namespace

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
    // An older kernel (or it has ended). What a number leads to is the right process if its connection stands
    // afterwards.
    OwnedDescriptor opened = errno == EMFILE || errno == ENFILE ? OwnedDescriptor() : open_process(process);
    if (!opened) {
        if (errno == ESRCH || errno == EINVAL) return {};
        throw SystemError("cannot watch the process at the other end of a socket", errno);
    }
    pollfd entry{connection, 0, 0};
    return poll(&entry, 1, 0) == 0 ? std::move(opened) : OwnedDescriptor();
}

}  // namespace penstock::process
