#include "components/files/endpoint.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "components/files/beside.hpp"
#include "penstock/error.hpp"

namespace penstock::components {
namespace {

struct Addresses {
    addrinfo* first = nullptr;
    ~Addresses() {
        if (first != nullptr) freeaddrinfo(first);
    }
};

/// A pipe that nobody reads ends a program that does not expect it by a signal: here it is an error like others.
class WithoutPipeSignal {
  public:
    WithoutPipeSignal() {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~WithoutPipeSignal() {
        const auto error = errno;
        const timespec at_once{};
        if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&pipe_, nullptr, &at_once);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = error;
    }
    WithoutPipeSignal(const WithoutPipeSignal&) = delete;
    WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

  private:
    sigset_t pipe_{}, before_{};
};

/// "HOST:PORT", where a HOST of IPv6 stands in brackets.
std::pair<std::string, std::string> host_and_port(const std::string& address, const std::string& text) {
    const auto colon = text.rfind(':');
    if (colon == text.npos || colon == 0 || colon + 1 == text.size())
        throw UsageError("'" + address + "' names no host and port: write tcp:HOST:PORT");
    auto host = text.substr(0, colon);
    if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    return {host, text.substr(colon + 1)};
}

}  // namespace

Endpoint::Endpoint(const std::string& address, Direction direction, std::chrono::nanoseconds patience)
    : address_(address), direction_(direction), patience_(patience) {
    const auto behind = [&](std::string_view scheme) { return address_.substr(scheme.size()); };
    try {
        if (address_.empty())
            throw UsageError("it is not said where bytes come from or go to: a path, '-', tcp:... or unix:...");
        if (address_ == "-") {
            descriptor_ = direction == Direction::read ? STDIN_FILENO : STDOUT_FILENO;
            owned_ = false;
        } else if (address_.starts_with("tcp:")) {
            const auto [host, port] = host_and_port(address_, behind("tcp:"));
            connect_tcp(host, port);
        } else if (address_.starts_with("tcp-listen:")) {
            const auto [host, port] = host_and_port(address_, behind("tcp-listen:"));
            listen_tcp(host, port);
        } else if (address_.starts_with("unix:")) {
            open_unix(behind("unix:"), false);
        } else if (address_.starts_with("unix-listen:")) {
            open_unix(behind("unix-listen:"), true);
        } else if (direction == Direction::write) {
            struct stat facts{};
            // A device or a pipe with a name takes what is written; only files can be replaced.
            if (stat(address_.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode)) {
                descriptor_ = open(address_.c_str(), O_WRONLY | O_CLOEXEC);
                if (descriptor_ < 0) refuse("cannot be opened", errno);
            } else {
                file_ = std::make_unique<FileBeside>(address_);
            }
        } else {
            descriptor_ = open(address_.c_str(), O_RDONLY | O_CLOEXEC);
            struct stat facts{};
            if (descriptor_ < 0 || fstat(descriptor_, &facts) != 0) refuse("cannot be opened", errno);
            if (S_ISDIR(facts.st_mode)) refuse("cannot be read", EISDIR);
        }
    } catch (...) {
        leave();
        throw;
    }
}

Endpoint::~Endpoint() { leave(); }

void Endpoint::leave() noexcept {
    if (owned_ && descriptor_ >= 0) close(descriptor_);
    if (listening_ >= 0) close(listening_);
    if (!unlink_.empty()) unlink(unlink_.c_str());
    descriptor_ = listening_ = -1;
    unlink_.clear();
}

void Endpoint::refuse(const char* what, int error) const { throw SystemError("'" + address_ + "' " + what, error); }

bool Endpoint::retry(std::chrono::steady_clock::time_point until) const {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return true;
}

void Endpoint::connect_tcp(const std::string& host, const std::string& port) {
    const auto until = std::chrono::steady_clock::now() + patience_;
    while (true) {
        Addresses found;
        addrinfo wishes{};
        wishes.ai_socktype = SOCK_STREAM;
        if (const int wrong = getaddrinfo(host.c_str(), port.c_str(), &wishes, &found.first); wrong != 0)
            throw UsageError("'" + address_ + "' names no host and port that are known: " + gai_strerror(wrong));
        int error = 0;
        for (const auto* each = found.first; each != nullptr; each = each->ai_next) {
            descriptor_ = socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol);
            if (descriptor_ >= 0 && connect(descriptor_, each->ai_addr, each->ai_addrlen) == 0) {
                socket_ = true;
                return;
            }
            error = errno;
            if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
        }
        if (!retry(until)) refuse("cannot be connected to", error);
    }
}

void Endpoint::listen_tcp(const std::string& host, const std::string& port) {
    Addresses found;
    addrinfo wishes{};
    wishes.ai_flags = AI_PASSIVE;
    wishes.ai_socktype = SOCK_STREAM;
    if (const int wrong = getaddrinfo(host.c_str(), port.c_str(), &wishes, &found.first); wrong != 0)
        throw UsageError("'" + address_ + "' names no host and port that are known: " + gai_strerror(wrong));
    int error = 0;
    for (const auto* each = found.first; each != nullptr; each = each->ai_next) {
        listening_ = socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol);
        const int yes = 1;
        if (listening_ >= 0) setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (listening_ >= 0 && bind(listening_, each->ai_addr, each->ai_addrlen) == 0 && listen(listening_, 1) == 0)
            return;
        error = errno;
        if (listening_ >= 0) close(std::exchange(listening_, -1));
    }
    refuse("cannot be listened at", error);
}

void Endpoint::open_unix(const std::string& path, bool listens) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        throw UsageError("'" + address_ + "' has a path that is empty or longer than a Unix socket's may be (" +
                         std::to_string(sizeof address.sun_path - 1) + " bytes)");
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const auto* const to = reinterpret_cast<const sockaddr*>(&address);
    const auto until = std::chrono::steady_clock::now() + patience_;
    while (true) {
        const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (made < 0) refuse("cannot be made", errno);
        (listens ? listening_ : descriptor_) = made;
        if (listens) {
            if (bind(made, to, sizeof address) != 0) refuse("cannot be listened at", errno);
            unlink_ = path;
            if (listen(made, 1) != 0) refuse("cannot be listened at", errno);
            return;
        }
        if (connect(made, to, sizeof address) == 0) {
            socket_ = true;
            return;
        }
        const int error = errno;
        close(std::exchange(descriptor_, -1));
        if (!retry(until)) refuse("cannot be connected to", error);
    }
}

bool Endpoint::accept_one(std::chrono::milliseconds within) {
    pollfd wanted{.fd = listening_, .events = POLLIN, .revents = 0};
    if (poll(&wanted, 1, static_cast<int>(within.count())) <= 0) return false;
    descriptor_ = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor_ < 0) {
        if (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED) return false;
        refuse("cannot be listened at", errno);
    }
    close(std::exchange(listening_, -1));  // one is all that there is room for
    socket_ = true;
    return true;
}

bool Endpoint::ready(std::chrono::milliseconds within) {
    if (descriptor_ < 0 && !accept_one(within)) return false;
    pollfd wanted{.fd = descriptor_, .events = POLLIN, .revents = 0};
    return poll(&wanted, 1, static_cast<int>(within.count())) > 0;
}

std::size_t Endpoint::read(std::span<std::byte> to) {
    while (true) {
        const auto got = ::read(descriptor_, to.data(), to.size());
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) refuse("cannot be read", errno);
    }
}

void Endpoint::write(std::span<const std::byte> from) {
    if (file_ != nullptr) return file_->write(from);
    for (const auto until = std::chrono::steady_clock::now() + patience_; descriptor_ < 0;)
        if (!accept_one(std::chrono::milliseconds(100)) && std::chrono::steady_clock::now() >= until)
            throw UsageError("nobody has connected to '" + address_ +
                             "' for what is to be written there: set `patience` for how long it is waited");
    const WithoutPipeSignal quiet;
    while (!from.empty()) {
        const auto done = socket_ ? send(descriptor_, from.data(), from.size(), MSG_NOSIGNAL)
                                  : ::write(descriptor_, from.data(), from.size());
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) refuse("takes no more bytes", done < 0 ? errno : EPIPE);
        from = from.subspan(static_cast<std::size_t>(done));
    }
}

void Endpoint::finish() {
    if (file_ != nullptr) return file_->put_in_place();
    if (!socket_ || direction_ != Direction::write) return;
    shutdown(descriptor_, SHUT_WR);
    // What the system has taken may still be on its way to somebody who has closed meanwhile.
    for (const auto until = std::chrono::steady_clock::now() + patience_;;) {
        int error = 0, left = 0;
        socklen_t size = sizeof error;
        if (getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error != 0)
            refuse("takes no more bytes", error);
        if (ioctl(descriptor_, SIOCOUTQ, &left) != 0 || left == 0 || !retry(until)) return;
    }
}

}  // namespace penstock::components
