// A team whose ranks are forked by a leader, a copy of the program as it was at launch(). The leader
// forks them as a program without threads would do itself, watches them, and sends how they ended. All are copies of
// one image, so the address of the program's function is the same in all.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "machine/said_by.hpp"
#include "machine/uninterrupted.hpp"
#include "process/nursery.hpp"
#include "store/team/team.hpp"

namespace penstock::team {
namespace {

/// All that a leader needs. Between two copies of one program, so pointers to functions mean the same.
struct Request {
    int size = 0;
    void (*call)(const void*, Rank) = nullptr;
    SpmdOptions options;
    WaitPolicy policy;
    StoreWays ways;
    bool pinned = false;
    pid_t group = 0;  ///< the program's process group, so that an interrupt from its terminal ends the ranks too
    std::array<int, most_ranks> processors{};
    alignas(64) std::array<std::byte, largest_sent_closure> closure{};
};
static_assert(std::is_trivially_copyable_v<Request>);

/// The state of a record that says why a leader could not run the team, and of the last one.
constexpr std::int32_t refusal = -2;
constexpr std::int32_t last = -1;

/// False when the other end is gone.
template <class Record>
bool send_whole(int socket, const Record& record) {
    return uninterrupted([&] { return send(socket, &record, sizeof record, MSG_NOSIGNAL); }) == sizeof record;
}

/// False when the other end is gone.
template <class Record>
bool receive_whole(int socket, Record& record) {
    return uninterrupted([&] { return recv(socket, &record, sizeof record, 0); }) == sizeof record;
}

/// Runs one team.
void lead(int answer) {
    Request request;
    if (!receive_whole(answer, request)) return;
    static_cast<void>(setpgid(0, request.group));
    EndRecord end;
    end.rank = last;
    try {
        inherit(request.ways);
        const Program program{.call = request.call, .closure = request.closure.data()};
        Placement placement;
        placement.policy = request.policy;
        if (request.pinned)
            placement.processors.assign(request.processors.begin(), request.processors.begin() + request.size);
        for (const auto& record : run_forked(request.size, program, request.options, placement, answer))
            send_whole(answer, record);
    } catch (const std::exception& error) {
        end.rank = refusal;
        if (const auto* refused = dynamic_cast<const SystemError*>(&error)) end.exit_code = refused->number();
        end.write(said_by(error));
    }
    send_whole(answer, end);
}

}  // namespace

std::vector<EndRecord> run_launched(int size, const Program& program, const SpmdOptions& options,
                                    const Placement& placement) {
    if (!program.sendable)
        throw UsageError(
            "the function that spmd shall run in processes cannot be sent to the process that launch() started: it "
            "must be trivially copyable and have at most " +
            std::to_string(largest_sent_closure) + " bytes; let it capture numbers only");
    Request request;
    request.size = size;
    request.call = program.call;
    request.options = options;
    request.policy = placement.policy;
    request.ways = StoreWays::here();
    request.pinned = !placement.processors.empty();
    std::copy(placement.processors.begin(), placement.processors.end(), request.processors.begin());
    std::memcpy(request.closure.data(), program.closure, program.bytes);
    request.group = getpgrp();
    const auto leader = process::start_early(&lead);
    std::vector<EndRecord> ends;
    const bool asked = send_whole(leader.get(), request);
    for (;;) {
        EndRecord record;
        if (!asked || !receive_whole(leader.get(), record))
            throw Error("the process that led the team ended before its ranks did; they were ended with it");
        if (record.rank == refusal) throw SystemError(std::string(record.what()), record.exit_code);
        if (record.rank == last) return ends;
        ends.push_back(record);
    }
}

}  // namespace penstock::team
