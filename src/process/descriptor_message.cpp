#include "process/descriptor_message.hpp"

#include <cstring>

#include "machine/uninterrupted.hpp"

namespace penstock::process {
namespace {

union Control {
    cmsghdr aligned;
    char bytes[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int) * most_descriptors)];
};

}  // namespace

ssize_t send_with_descriptors(int socket, std::span<const std::byte> text, std::span<const int> descriptors,
                              int flags) noexcept {
    Control control{};
    iovec piece{const_cast<std::byte*>(text.data()), text.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* const part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
    }
    return uninterrupted([&] { return sendmsg(socket, &message, flags | MSG_NOSIGNAL); });
}

ssize_t receive_with_descriptors(int socket, std::span<std::byte> text, int flags, Arrived& arrived) {
    Control control;
    iovec piece{text.data(), text.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    const auto length = uninterrupted([&] { return recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC); });
    if (length < 0) return length;  // a text of no bytes may come with descriptors too
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_CREDENTIALS) std::memcpy(&arrived.sender, CMSG_DATA(part), sizeof arrived.sender);
        if (part->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
            arrived.descriptors.emplace_back(number);
        }
    }
    arrived.text_cut = (message.msg_flags & MSG_TRUNC) != 0;
    arrived.control_cut = (message.msg_flags & MSG_CTRUNC) != 0;
    return length;
}

}  // namespace penstock::process
