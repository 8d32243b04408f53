// Messages over Unix sockets with descriptors beside the text (SCM_RIGHTS).
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <span>
#include <vector>

#include "penstock/detail/machine/owned_descriptor.hpp"

namespace penstock::process {

/// As many as one message can carry here; the kernel's own limit is 253.
inline constexpr std::size_t most_descriptors = 64;

/// Sends `text` with up to `most_descriptors` beside it. As sendmsg: -1 and errno when it cannot, but never EINTR.
ssize_t send_with_descriptors(int socket, std::span<const std::byte> text, std::span<const int> descriptors,
                              int flags) noexcept;
inline ssize_t send_with_descriptor(int socket, std::span<const std::byte> text, int descriptor, int flags) noexcept {
    return send_with_descriptors(socket, text, {&descriptor, 1}, flags);
}

/// What came with a text.
struct Arrived {
    bool text_cut = false;
    bool control_cut = false;  ///< descriptors were lost, as when this process has none left
    ucred sender{};            ///< where the socket asks for it (SO_PASSCRED)
    std::vector<OwnedDescriptor> descriptors;
};

/// Receives one message into `text`. Every descriptor that came is owned at once. As recvmsg: the length, 0 when the
/// other end is closed (or the text had no bytes), -1 and errno when it cannot, but never EINTR.
ssize_t receive_with_descriptors(int socket, std::span<std::byte> text, int flags, Arrived& arrived);

}  // namespace penstock::process
