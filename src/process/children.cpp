#include "process/children.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>

#include "machine/uninterrupted.hpp"

namespace penstock::process {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto by_descriptor = static_cast<idtype_t>(3);  // P_PIDFD, by number: glibc before 2.36 does not name it

/// struct pidfd_info of Linux 6.13 in its first form, and the request that fills it in.
struct PidfdInfo {
    std::uint64_t mask = 0;
    std::uint64_t cgroup = 0;
    std::uint32_t ids[11]{};
    std::int32_t exit_code = 0;  ///< as wait() gives it
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t wants_exit_code = 1u << 3;  // PIDFD_INFO_EXIT, Linux 6.15
constexpr unsigned long get_info = _IOWR(0xff, 11, PidfdInfo);

/// False when the kernel says nothing: the process runs, is no child of this one, or was collected.
bool ask_as_parent(int process, int options, Death& death) noexcept {
    siginfo_t info{};
    const auto ask = [&] { return waitid(by_descriptor, static_cast<id_t>(process), &info, WEXITED | options); };
    if (uninterrupted(ask) != 0 || info.si_pid == 0) return false;
    (info.si_code == CLD_EXITED ? death.exit_code : death.signal) = info.si_status;
    death.core_dumped = info.si_code == CLD_DUMPED;
    return true;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
}

/// What posix_spawn is given; freed whatever happens.
struct Spawning {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    Spawning() {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
    }
    ~Spawning() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    Spawning(const Spawning&) = delete;
    Spawning& operator=(const Spawning&) = delete;
};

}  // namespace

OwnedDescriptor open_process(pid_t pid) noexcept {
    return OwnedDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

Knowledge learn_end(int process, Death& death) noexcept {
    if (ask_as_parent(process, WNOHANG | WNOWAIT, death)) return Knowledge::known;
    PidfdInfo info;
    info.mask = wants_exit_code;
    if (ioctl(process, get_info, &info) != 0) return errno == ESRCH ? Knowledge::later : Knowledge::never;
    if ((info.mask & wants_exit_code) == 0) return Knowledge::later;
    if (WIFSIGNALED(info.exit_code)) death.signal = WTERMSIG(info.exit_code);
    if (WIFEXITED(info.exit_code)) death.exit_code = WEXITSTATUS(info.exit_code);
    return Knowledge::known;
}

void end_with(pid_t parent) noexcept {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(1);
}

void await_kill() noexcept {
    std::this_thread::sleep_for(1s);
    ::kill(getpid(), SIGKILL);
    _exit(128 + SIGKILL);
}

void Children::Child::kill() const noexcept { syscall(SYS_pidfd_send_signal, watch.get(), SIGKILL, nullptr, 0); }

Death Children::Child::collect() const noexcept {
    Death death{.tag = tag, .pid = pid};
    ask_as_parent(watch.get(), 0, death);
    return death;
}

pid_t Children::add(std::uint32_t tag, pid_t pid) {
    if (auto watch = open_process(pid)) {
        running_.push_back({tag, pid, std::move(watch)});  // room was made
        return pid;
    }
    const int error = errno;
    if (error == ESRCH) {  // it is over already, and nobody is to collect it: the program ignores SIGCHLD
        running_.push_back({tag, pid, {}});
        return pid;
    }
    ::kill(pid, SIGKILL);
    uninterrupted([&] { return waitpid(pid, nullptr, 0); });
    errno = error;
    return -1;
}

pid_t Children::fork(std::uint32_t tag) {
    running_.reserve(running_.size() + 1);
    const pid_t parent = getpid();
    const pid_t pid = ::fork();
    if (pid > 0) return add(tag, pid);
    if (pid == 0) {
        running_.clear();
        end_with(parent);
    }
    return pid;
}

pid_t Children::spawn(std::uint32_t tag, std::vector<std::string> arguments, std::vector<std::string> environment,
                      std::span<const int> kept) {
    running_.reserve(running_.size() + 1);
    Spawning spawning;
    // A descriptor duplicated onto itself is left open in the new program.
    for (const int descriptor : kept) posix_spawn_file_actions_adddup2(&spawning.actions, descriptor, descriptor);
    posix_spawn_file_actions_addopen(&spawning.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int signal : {SIGINT, SIGPIPE, SIGTERM, SIGCHLD}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&spawning.attributes, &none);
    posix_spawnattr_setsigdefault(&spawning.attributes, &defaults);
    posix_spawnattr_setpgroup(&spawning.attributes, 0);
    posix_spawnattr_setflags(&spawning.attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    pid_t pid = 0;
    errno = posix_spawn(&pid, arguments[0].c_str(), &spawning.actions, &spawning.attributes, pointers(arguments).data(),
                        pointers(environment).data());
    return errno != 0 ? -1 : add(tag, pid);
}

std::vector<Death> Children::wait(std::span<pollfd> beside, std::chrono::milliseconds within) {
    std::vector<Death> deaths;
    deaths.reserve(running_.size());  // nothing is refused memory between the collection of a child and its report
    std::vector<pollfd> entries(beside.begin(), beside.end());
    for (const auto& child : running_) {
        entries.push_back({child.watch.get(), POLLIN, 0});
        if (!child.watch) within = 0ms;
    }
    for (auto& entry : beside) entry.revents = 0;
    if (poll(entries.data(), entries.size(), static_cast<int>(within.count())) < 0) {
        // Short of memory, or the limit of descriptors fell below what is watched: that may pass.
        if (errno != EINTR) std::this_thread::sleep_for(within < 0ms ? 50ms : std::min(within, 50ms));
        return {};
    }
    for (std::size_t i = 0; i < beside.size(); ++i) beside[i].revents = entries[i].revents;
    auto entry = entries.begin() + static_cast<std::ptrdiff_t>(beside.size());
    std::erase_if(running_, [&](const Child& child) {
        if ((entry++)->revents == 0 && child.watch) return false;
        deaths.push_back(child.collect());
        return true;
    });
    return deaths;
}

void Children::kill(std::uint32_t tag) const noexcept {
    for (const auto& child : running_)
        if (child.tag == tag) child.kill();
}

void Children::end_all(std::chrono::milliseconds within) noexcept {
    const auto deadline = Clock::now() + within;
    for (const auto& child : running_) {
        if (!child.watch) continue;
        pollfd entry{child.watch.get(), POLLIN, 0};
        const auto ended = uninterrupted([&] {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
            return poll(&entry, 1, static_cast<int>(std::max(left, 0ms).count()));
        });
        if (ended <= 0) child.kill();
    }
    for (const auto& child : running_) child.collect();
    running_.clear();
}

}  // namespace penstock::process
