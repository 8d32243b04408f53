// Where processes of one machine find one another by name: an abstract Unix address. It is in no file system, is free
// again when its socket is closed, and names belong to users.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "penstock/detail/machine/owned_descriptor.hpp"

namespace penstock::process {

struct LocalAddress {
    static constexpr std::size_t longest_space = 16;
    static constexpr std::size_t longest_name = sizeof(sockaddr_un::sun_path) - 1 - longest_space - 1 - 10 - 1;

    sockaddr_un place{};
    socklen_t length = 0;

    /// `space`: what kind of name it is, at most longest_space bytes.
    LocalAddress(std::string_view space, std::string_view name, uid_t owner) {
        const auto text = std::string(space) + "/" + std::to_string(owner) + "/" + std::string(name);
        place.sun_family = AF_UNIX;
        text.copy(place.sun_path + 1, sizeof place.sun_path - 1);
        length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&place); }

    /// Neither empty nor too long, no blanks, no control characters.
    static bool takes(std::string_view name, std::size_t longest) {
        const bool printable = std::ranges::all_of(name, [](unsigned char byte) { return byte > ' ' && byte != 0x7f; });
        return !name.empty() && name.size() <= longest && printable;
    }
};

/// Who made the other end of this connection, as the kernel says. Throws SystemError.
ucred peer_of(int connection);

/// A descriptor (pidfd) of the process at the other end; none when it has ended. Throws SystemError.
OwnedDescriptor process_of(int connection, pid_t process);

}  // namespace penstock::process
