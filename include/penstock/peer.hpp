// channel layer: is the process at the other end of a channel still there?
//
// A peer is watched by a pidfd, never by its number: numbers are used again. Who does not get a pidfd from the start of
// the process opens one by number and then compares the start time that the peer wrote beside its number, so that a
// stranger that inherited the number counts as what it is: a sign that the peer is gone.
#pragma once

#include <cstdint>
#include <optional>

#include "penstock/error.hpp"

namespace penstock {

/// The process at the other end ended without closing its end. Exit code and signal are known where it was a child.
class PeerDied : public Error {
  public:
    PeerDied(int pid, std::optional<int> exit_code, std::optional<int> signal);
    int pid() const noexcept { return pid_; }
    std::optional<int> exit_code() const noexcept { return exit_code_; }
    std::optional<int> signal() const noexcept { return signal_; }

  private:
    int pid_;
    std::optional<int> exit_code_;
    std::optional<int> signal_;
};

/// A process as it writes itself into shared memory, told apart from all that will ever have its number since boot.
struct PeerIdentity {
    std::int32_t pid = 0;
    std::uint64_t start_time = 0;  ///< in clock ticks since boot; 0 where /proc does not tell

    static PeerIdentity of_this_process();
};

/// Watches one process. Moved, not copied.
class PeerWatch {
  public:
    PeerWatch() noexcept = default;  ///< watches nobody: never says dead

    /// Starts to watch. A process that is gone already counts as dead. Throws SystemError where there is no pidfd
    /// (before Linux 5.3) or no descriptor left.
    explicit PeerWatch(PeerIdentity peer);
    ~PeerWatch();
    PeerWatch(PeerWatch&& other) noexcept;
    PeerWatch& operator=(PeerWatch&& other) noexcept;

    bool watching() const noexcept { return identity_.pid != 0; }
    /// Has it ended? A system call (about 0.3 us).
    bool dead() noexcept;
    /// What dead() said last. Free.
    bool dead_seen() const noexcept { return gone_; }
    /// What is known of the end; leaves the process to be reaped by its parent as ever. Only after dead() said so.
    PeerDied obituary() const;

  private:
    PeerIdentity identity_;
    int descriptor_ = -1;
    bool gone_ = false;
};

}  // namespace penstock
