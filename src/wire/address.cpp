#include "wire/address.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "penstock/error.hpp"
#include "process/local_socket.hpp"
#include "trace/text.hpp"

namespace penstock::wire {
namespace {

constexpr const char* space = "penstock-wire";
constexpr int backlog = 128;

struct Resolved {
    addrinfo* first = nullptr;
    Resolved(const Address& address, int flags) noexcept {
        addrinfo hints{};
        hints.ai_family = AF_UNSPEC;
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = AI_NUMERICSERV | flags;
        const auto port = std::to_string(address.port);
        if (getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(), port.c_str(), &hints, &first) != 0)
            first = nullptr;
    }
    ~Resolved() {
        if (first != nullptr) freeaddrinfo(first);
    }
    Resolved(const Resolved&) = delete;
    Resolved& operator=(const Resolved&) = delete;
};

OwnedDescriptor socket_of(int family) noexcept {
    return OwnedDescriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

std::uint16_t port_of(int socket) noexcept {
    sockaddr_storage place{};
    socklen_t length = sizeof place;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&place), &length) != 0) return 0;
    return ntohs(place.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(place).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(place).sin_port);
}

}  // namespace

Address Address::of_text(const std::string& text) {
    const auto wrong = [&]() -> UsageError {
        return UsageError("'" + text + "' is no address: say tcp:HOST:PORT or unix:NAME");
    };
    if (text.starts_with("unix:")) {
        Address made{.local = true, .host = text.substr(5)};
        if (!process::LocalAddress::takes(made.host, process::LocalAddress::longest_name)) throw wrong();
        return made;
    }
    const auto colon = text.rfind(':');
    if (!text.starts_with("tcp:") || colon < 4) throw wrong();
    const auto port = trace::number_of<std::uint16_t>(std::string_view(text).substr(colon + 1));
    if (!port) throw wrong();
    auto host = text.substr(4, colon - 4);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    return {.local = false, .host = std::move(host), .port = *port};
}

std::string Address::text() const {
    if (local) return "unix:" + host;
    return "tcp:" + (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

Address Address::resolved() const {
    if (local) return *this;
    const Resolved all(*this, 0);
    char name[NI_MAXHOST];
    if (all.first == nullptr ||
        getnameinfo(all.first->ai_addr, all.first->ai_addrlen, name, sizeof name, nullptr, 0, NI_NUMERICHOST) != 0)
        throw UsageError("the host of the address " + text() + " is not known");
    return {.local = false, .host = name, .port = port};
}

std::string own_host_towards(const Address& address) {
    // A socket of datagrams finds its way when it is connected, and sends nothing.
    const Resolved all(address, AI_NUMERICHOST);
    char name[NI_MAXHOST];
    for (const auto* each = all.first; each != nullptr; each = each->ai_next) {
        const OwnedDescriptor made(socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        sockaddr_storage own{};
        socklen_t length = sizeof own;
        if (made && connect(made.get(), each->ai_addr, each->ai_addrlen) == 0 &&
            getsockname(made.get(), reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
            getnameinfo(reinterpret_cast<sockaddr*>(&own), length, name, sizeof name, nullptr, 0, NI_NUMERICHOST) == 0)
            return name;
    }
    return "127.0.0.1";
}

std::string own_host() { return own_host_towards({.local = false, .host = "192.0.2.1", .port = 9}); }

OwnedDescriptor listen_at(Address& address) {
    const auto fail = [&](int number) -> SystemError {
        return SystemError("cannot listen at " + address.text(), number);
    };
    if (address.local) {
        const process::LocalAddress place(space, address.host, geteuid());
        auto made = socket_of(AF_UNIX);
        if (!made || bind(made.get(), place.get(), place.length) != 0 || listen(made.get(), backlog) != 0)
            throw fail(errno);
        return made;
    }
    const Resolved all(address, AI_PASSIVE);
    int number = EADDRNOTAVAIL;
    for (const auto* each = all.first; each != nullptr; each = each->ai_next) {
        auto made = socket_of(each->ai_family);
        const int yes = 1;
        if (made) setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (made && bind(made.get(), each->ai_addr, each->ai_addrlen) == 0 && listen(made.get(), backlog) == 0) {
            address.port = port_of(made.get());
            return made;
        }
        number = errno;
    }
    throw fail(number);
}

OwnedDescriptor connect_to(const Address& address) noexcept {
    const auto begin = [](int family, const sockaddr* place, socklen_t length) {
        auto made = socket_of(family);
        if (made && connect(made.get(), place, length) != 0 && errno != EINPROGRESS) {
            const int number = errno;
            made.reset();
            errno = number;
        }
        return made;
    };
    if (address.local) {
        const process::LocalAddress place(space, address.host, geteuid());
        return begin(AF_UNIX, place.get(), place.length);
    }
    const Resolved all(address, AI_NUMERICHOST);
    errno = EHOSTUNREACH;
    for (const auto* each = all.first; each != nullptr; each = each->ai_next)
        if (auto made = begin(each->ai_family, each->ai_addr, each->ai_addrlen)) return made;
    return {};
}

void set_up(int socket, const Address& address, std::chrono::milliseconds patience) noexcept {
    const int bytes = 4 << 20;
    if (address.local) {
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        return;
    }
    // The system sizes the buffers of TCP itself, by bandwidth and round-trip time.
    const int yes = 1;
    const auto limit = static_cast<unsigned>(patience.count());
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

}  // namespace penstock::wire
