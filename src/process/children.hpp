// Child processes of this one: started, watched, killed and collected in one place.
//
// Each child is watched, killed and collected through its pidfd: where the program ignores SIGCHLD, the kernel collects
// children by itself, and a number may soon belong to another process.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/detail/machine/owned_descriptor.hpp"

namespace penstock::process {

/// How a process ended. Neither a code nor a signal: nobody was told, as where the program ignores SIGCHLD.
struct Death {
    std::uint32_t tag = 0;  ///< which child, as whoever started it counts them
    pid_t pid = 0;
    std::optional<int> exit_code{};
    std::optional<int> signal{};
    bool core_dumped = false;
};

/// A pidfd of this process; none, with errno, where it has gone or no descriptor is left.
OwnedDescriptor open_process(pid_t pid) noexcept;

/// What the kernel says of how the process behind a pidfd ended.
enum class Knowledge { known, later, never };
/// It tells the parent at once, others when the parent has collected it (from Linux 6.15 on), and older kernels tell
/// nobody else. Collects nothing.
Knowledge learn_end(int process, Death& death) noexcept;

/// The children that one thread has started. No other thread may use it. When it goes, those that still run are killed,
/// and all have been collected.
class Children {
  public:
    Children() = default;
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;
    ~Children() { end_all(std::chrono::milliseconds{0}); }

    /// As fork(): 0 in the child, which has no children yet and is killed when the thread that called this ends; -1
    /// with errno when it could not be started or watched.
    pid_t fork(std::uint32_t tag);
    /// Starts a program: its path and arguments, its environment, and which descriptors stay open in it, beside stdout
    /// and stderr. It reads /dev/null, has a process group of its own (Ctrl-C at the terminal is for the parent), no
    /// signal blocked and the usual ones at their defaults. -1 with errno when it could not be started or watched.
    pid_t spawn(std::uint32_t tag, std::vector<std::string> arguments, std::vector<std::string> environment,
                std::span<const int> kept);

    /// Waits until a child has ended, or one of `beside` has something to say (its revents are set), or the time is
    /// over; less than nothing is without end. It may return early with nothing.
    std::vector<Death> wait(std::span<pollfd> beside = {}, std::chrono::milliseconds within = without_end);
    /// Says only that it is to end: wait() tells when it has.
    void kill(std::uint32_t tag) const noexcept;
    /// Waits until all have ended. Those that have not within this time are killed.
    void end_all(std::chrono::milliseconds within) noexcept;

    bool empty() const noexcept { return running_.empty(); }

  private:
    static constexpr std::chrono::milliseconds without_end{-1};

    struct Child {
        std::uint32_t tag;
        pid_t pid;
        OwnedDescriptor watch;  ///< none: it was over before it could be watched

        void kill() const noexcept;
        Death collect() const noexcept;
    };

    pid_t add(std::uint32_t tag, pid_t pid);

    std::vector<Child> running_;
};

/// This process is killed when the thread that started it ends. `parent`: the process of that thread, which may have
/// ended already.
void end_with(pid_t parent) noexcept;

/// The end of a process that another has decided to kill: waits for its SIGKILL, but not for ever, as what says that it
/// comes may lie in memory that somebody has written over.
[[noreturn]] void await_kill() noexcept;

}  // namespace penstock::process
