// Where a process listens: "tcp:HOST:PORT" or "unix:NAME" (a name of this machine's, in no file system).
#pragma once

#include <chrono>
#include <string>

#include "penstock/detail/machine/owned_descriptor.hpp"

namespace penstock::wire {

struct Address {
    bool local = true;   ///< a Unix socket: this machine and this user only
    std::string host{};  ///< or the name
    std::uint16_t port = 0;

    /// Throws UsageError.
    static Address of_text(const std::string& text);
    std::string text() const;
    /// With the host as a number. May wait for a name server. Throws UsageError.
    Address resolved() const;
};

/// An address of this machine that others can reach: that of its way to the rest of the world; "127.0.0.1" without one.
std::string own_host();
/// That of its way there.
std::string own_host_towards(const Address& address);
/// A socket that listens there, with the port that the system chose where it is 0. Does not wait. Throws SystemError.
OwnedDescriptor listen_at(Address& address);
/// A socket that is on its way there; the address must be resolved. None, with errno, where that is refused at once.
OwnedDescriptor connect_to(const Address& address) noexcept;
/// Small frames go at once; a peer that does not answer for so long ends the connection.
void set_up(int socket, const Address& address, std::chrono::milliseconds patience) noexcept;

}  // namespace penstock::wire
