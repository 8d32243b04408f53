#include "store/team/death_watch.hpp"

#include <sys/eventfd.h>

#include <cerrno>

#include "process/quiet_thread.hpp"

namespace penstock::team {
namespace {

using namespace std::chrono_literals;

bool learn(const ControlBlock& control, const Watched& ended) {
    const Seat& seat = control.seat(ended.rank);
    if (seat.signal.load(std::memory_order_relaxed) != 0 || seat.exit_code.load(std::memory_order_relaxed) >= 0)
        return true;
    process::Death death;
    const auto knowledge = process::learn_end(ended.process, death);
    control.write_down(ended.rank, death);
    return knowledge != process::Knowledge::later;
}

}  // namespace

bool learn_ends(const ControlBlock& control, std::span<const Watched> ended) {
    bool all = true;
    for (const auto& one : ended) all &= learn(control, one);
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
    processes_[own].reset();
    thread_ = process::quiet_thread("penstock watch", [this] { watch(); });
}

DeathWatch::~DeathWatch() {
    eventfd_write(stop_.get(), 1);
    thread_.join();
}

void DeathWatch::watch() {
    for (;;) {
        std::vector<pollfd> entries;
        for (const auto& process : processes_) entries.push_back({process.get(), POLLIN, 0});
        entries.push_back({stop_.get(), POLLIN, 0});
        if (poll(entries.data(), entries.size(), -1) < 0) {
            // Short of memory, or the limit of descriptors fell below what is watched: that may pass.
            if (errno != EINTR) std::this_thread::sleep_for(50ms);
            continue;
        }
        if (entries.back().revents != 0) return;
        std::vector<Watched> ended;
        for (int rank = 0; rank < control_.size(); ++rank)
            if (entries[rank].revents != 0) ended.push_back({rank, processes_[rank].get()});
        mark_dead(control_, ended);
        for (const auto& one : ended) processes_[one.rank].reset();
    }
}

}  // namespace penstock::team
