#include "wire/carrier.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "machine/uninterrupted.hpp"

namespace penstock::wire {
namespace {

ssize_t outcome(ssize_t result) noexcept {
    if (result > 0) return result;
    return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? Carrier::later : Carrier::broken;
}

msghdr message_of(std::span<const iovec> parts) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    return message;
}

}  // namespace

ssize_t Carrier::write(std::span<const iovec> parts) noexcept {
    const auto message = message_of(parts);
    return outcome(uninterrupted([&] { return sendmsg(descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT); }));
}

ssize_t Carrier::read(std::span<const iovec> parts) noexcept {
    auto message = message_of(parts);
    return outcome(uninterrupted([&] { return recvmsg(descriptor(), &message, MSG_DONTWAIT); }));
}

}  // namespace penstock::wire
