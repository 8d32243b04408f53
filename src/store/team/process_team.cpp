// A team of processes: forked by the caller, which watches them and marks the seats of those that die.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>

#include "penstock/store_way.hpp"
#include "penstock/topology.hpp"
#include "process/children.hpp"
#include "process/fork.hpp"
#include "process/nursery.hpp"
#include "store/team/control_block.hpp"
#include "store/team/exchange.hpp"
#include "store/team/team.hpp"

namespace penstock::team {
namespace {

/// The child: runs the program as this rank. Returns the exit code.
int run_rank(const ControlBlock& control, Member& member, const Program& program) {
    const int rank = member.index;
    auto& seat = control.seat(rank);
    bool failed = true;
    try {
        seat.identity = ProcessIdentity::of_this_process();
        seat.user = getuid();
        register_fence(seat);
        seat.state.store(State::running, std::memory_order_release);
        program.call(program.closure, Rank(member));
        failed = false;
    } catch (...) {
        tell_cause(std::current_exception(),
                   [&](const char* what, bool consequence) { control.report_failure(rank, what, consequence); });
    }
    // What the rank printed must be out before anybody hears that it has ended.
    std::cout.flush();
    std::fflush(nullptr);
    control.end(rank, failed ? State::failed : State::finished);
    return failed ? 1 : 0;
}

/// Returns when all ranks have ended, or the caller has. Marks the seats of those that died, and wakes whoever waits
/// for them.
void await(process::Children& ranks, const ControlBlock& control, int caller) {
    while (!ranks.empty()) {
        pollfd entry{caller, 0, 0};  // says only that it was closed; a negative one says nothing
        for (const auto& death : ranks.wait({&entry, 1})) {
            const int rank = static_cast<int>(death.tag);
            if (control.state(rank) >= State::finished) continue;
            control.write_down(rank, death);
            control.seat(rank).identity.pid = death.pid;
            control.end(rank, State::dead);
        }
        if (entry.revents != 0) return;
    }
}

/// The rest of the child's life. Nothing that is thrown here may reach the caller of spmd, which the child has a copy
/// of.
[[noreturn]] void become(Member& member, const ControlBlock& control, const Placement& placement,
                         ProcessExchange::Boxes& boxes, const Program& program) noexcept {
    placement.pin(member.index);
    ProcessExchange exchange(std::move(boxes.receiving[member.index]), std::move(boxes.sending));
    boxes.receiving.clear();
    member.exchange = &exchange;
    _exit(run_rank(control, member, program));
}

}  // namespace

Ending ending_of(const EndRecord& record) {
    Ending ending;
    ending.rank = record.rank;
    if (record.state == State::failed) {
        ending.order = record.order;
        ending.consequence = record.consequence;
        ending.error = std::make_exception_ptr(Error(std::string(record.what())));
    } else if (record.state == State::dead) {
        ending.died = true;
        ending.error = std::make_exception_ptr(rank_died(record.rank, record.pid, record.exit_code, record.signal));
    }
    return ending;
}

std::vector<EndRecord> run_forked(int size, const Program& program, const SpmdOptions& options,
                                  const Placement& placement, int caller) {
    settle_before_fork();
    const ControlBlock control(size);
    ProcessExchange::Boxes boxes(size);
    process::Children ranks;
    std::cout.flush();
    std::fflush(nullptr);  // or each rank would print it again
    for (int rank = 0; rank < size; ++rank) {
        const pid_t pid = ranks.fork(static_cast<std::uint32_t>(rank));
        if (pid < 0)
            throw SystemError("cannot start a process for rank " + std::to_string(rank) + " of " + std::to_string(size),
                              errno);
        if (pid != 0) continue;
        Member member{control.seats(),      nullptr, rank, size, Substrate::processes, placement.policy,
                      options.accept_within};
        become(member, control, placement, boxes, program);
    }
    boxes.receiving.clear();
    boxes.sending.clear();
    await(ranks, control, caller);
    std::vector<EndRecord> ends;
    for (int rank = 0; rank < size; ++rank) ends.push_back(control.ending(rank));
    return ends;
}

void run_processes(int size, const Program& program, const SpmdOptions& options) {
    StoreWays::here();  // measured with a thread, and once for all ranks
    const bool alone = process::has_one_thread();
    if (!alone && !process::launched())
        throw UsageError(
            "spmd cannot fork the processes of a team while this process has several threads; call "
            "penstock::launch() on main's first line, or spmd before other threads are started");
    const auto placement = Placement::of(size, options.pin);
    const auto ends =
        alone ? run_forked(size, program, options, placement, -1) : run_launched(size, program, options, placement);
    std::vector<Ending> endings;
    for (const auto& end : ends) endings.push_back(ending_of(end));
    conclude(endings);
}

}  // namespace penstock::team
