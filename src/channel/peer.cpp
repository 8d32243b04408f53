#include "penstock/peer.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "machine/process_identity.hpp"

namespace penstock {
namespace {

std::string describe(int pid, std::optional<int> exit_code, std::optional<int> signal) {
    std::string text = "the process at the other end of the channel, " + std::to_string(pid) + ", has died";
    if (signal) text += " of signal " + std::to_string(*signal);
    if (exit_code) text += " with exit code " + std::to_string(*exit_code);
    return text + "; what it had published was delivered, start it again with a new channel";
}

int open_pidfd(int pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

PeerDied::PeerDied(int pid, std::optional<int> exit_code, std::optional<int> signal)
    : Error(describe(pid, exit_code, signal)), pid_(pid), exit_code_(exit_code), signal_(signal) {}

PeerIdentity PeerIdentity::of_this_process() {
    const auto self = ProcessIdentity::of_this_process();
    return {static_cast<std::int32_t>(self.number), self.start};
}

PeerWatch::PeerWatch(PeerIdentity peer) : identity_(peer) {
    if (peer.pid <= 0)
        throw UsageError("a process number must be positive, but the peer wrote " + std::to_string(peer.pid));
    descriptor_ = open_pidfd(peer.pid);
    if (descriptor_ < 0) {
        if (errno != ESRCH) throw SystemError("watching process " + std::to_string(peer.pid), errno);
        gone_ = true;
    } else if (!ProcessIdentity{peer.pid, peer.start_time}.alive() && !dead()) {
        gone_ = true;  // the number has a new owner, which is none of our business
        close(std::exchange(descriptor_, -1));
    }
}

PeerWatch::~PeerWatch() {
    if (descriptor_ >= 0) close(descriptor_);
}

PeerWatch::PeerWatch(PeerWatch&& other) noexcept
    : identity_(std::exchange(other.identity_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      gone_(std::exchange(other.gone_, false)) {}

PeerWatch& PeerWatch::operator=(PeerWatch&& other) noexcept {
    PeerWatch taken(std::move(other));
    std::swap(identity_, taken.identity_);
    std::swap(descriptor_, taken.descriptor_);
    std::swap(gone_, taken.gone_);
    return *this;
}

bool PeerWatch::dead() noexcept {
    if (gone_ || descriptor_ < 0) return gone_;
    pollfd entry{descriptor_, POLLIN, 0};
    gone_ = poll(&entry, 1, 0) == 1;
    return gone_;
}

PeerDied PeerWatch::obituary() const {
    siginfo_t info{};
    std::optional<int> exit_code;
    std::optional<int> signal;
    const auto by_descriptor = static_cast<idtype_t>(3);  // P_PIDFD, by number: glibc before 2.36 does not name it
    if (descriptor_ >= 0 &&
        waitid(by_descriptor, static_cast<id_t>(descriptor_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == identity_.pid) {
        if (info.si_code == CLD_EXITED)
            exit_code = info.si_status;
        else
            signal = info.si_status;
    }
    return {identity_.pid, exit_code, signal};
}

}  // namespace penstock
