#include "store/team/death_watch.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "process/quiet_thread.hpp"

namespace penstock::team {
namespace {

using namespace std::chrono_literals;

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

enum class Knowledge { known, later, never };

void write_down(Seat& seat, int status) {
    if (WIFSIGNALED(status)) seat.signal.store(WTERMSIG(status), std::memory_order_relaxed);
    if (WIFEXITED(status)) seat.exit_code.store(WEXITSTATUS(status), std::memory_order_relaxed);
}

/// For the parent, whether it has reaped it or not.
bool learn_as_parent(Seat& seat, int process) {
    siginfo_t info{};
    const auto by_descriptor = static_cast<idtype_t>(3);  // P_PIDFD, by number: glibc before 2.36 does not name it
    if (waitid(by_descriptor, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
        return false;
    auto& fact = info.si_code == CLD_EXITED ? seat.exit_code : seat.signal;
    fact.store(info.si_status, std::memory_order_relaxed);
    return true;
}

Knowledge learn(Seat& seat, int process) {
    if (seat.signal.load(std::memory_order_relaxed) != 0 || seat.exit_code.load(std::memory_order_relaxed) >= 0)
        return Knowledge::known;
    if (learn_as_parent(seat, process)) return Knowledge::known;
    PidfdInfo info;
    info.mask = wants_exit_code;
    if (ioctl(process, get_info, &info) != 0) return errno == ESRCH ? Knowledge::later : Knowledge::never;
    if ((info.mask & wants_exit_code) == 0) return Knowledge::later;
    write_down(seat, info.exit_code);
    return Knowledge::known;
}

}  // namespace

bool learn_ends(const ControlBlock& control, std::span<const Watched> ended) {
    bool all = true;
    for (const auto& one : ended) all &= learn(control.seat(one.rank), one.process) != Knowledge::later;
    return all;
}

void mark_dead(const ControlBlock& control, std::span<const Watched> ended) {
    std::vector<Watched> died;
    for (const auto& one : ended)
        if (control.state(one.rank) < State::finished) died.push_back(one);
    for (int tries = 0; tries < 10 && !learn_ends(control, died); ++tries) std::this_thread::sleep_for(2ms);
    for (const auto& one : died) control.end(one.rank, State::dead);
}

DeathWatch::DeathWatch(const ControlBlock& control, int own, std::vector<OwnedDescriptor> processes)
    : control_(control), processes_(std::move(processes)), stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stop_) throw SystemError("cannot watch the members of a team", errno);
    for (int rank = 0; rank < control_.size(); ++rank)
        if (rank != own) watched_.push_back({rank, processes_[static_cast<std::size_t>(rank)].get()});
    thread_ = process::quiet_thread("penstock watch", [this] { watch(); });
}

DeathWatch::~DeathWatch() {
    eventfd_write(stop_.get(), 1);
    thread_.join();
}

void DeathWatch::watch() {
    for (;;) {
        std::vector<pollfd> entries;
        for (const auto& one : watched_) entries.push_back({one.process, POLLIN, 0});
        entries.push_back({stop_.get(), POLLIN, 0});
        if (poll(entries.data(), entries.size(), -1) < 0) {
            // Short of memory, or the limit of descriptors fell below what is watched: that may pass.
            if (errno != EINTR) std::this_thread::sleep_for(50ms);
            continue;
        }
        if (entries.back().revents != 0) return;
        std::vector<Watched> ended;
        std::vector<Watched> left;
        for (std::size_t i = 0; i < watched_.size(); ++i)
            (entries[i].revents != 0 ? ended : left).push_back(watched_[i]);
        watched_ = std::move(left);
        mark_dead(control_, ended);
    }
}

}  // namespace penstock::team
