// The small early process from which teams are forked on behalf of a program that has threads by now (contract 16).
//
// The program sends it a request and one end of a socket for the answer. For each request it forks a leader, which forks the
// ranks as a program without threads would do itself, watches them, and sends how they ended. All of them are forked from one
// image, so the address of the program's function is the same in all.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>

#include "machine/said_by.hpp"
#include "store/descriptor_message.hpp"
#include "store/shared_range.hpp"
#include "store/team.hpp"

namespace penstock {
namespace team {
namespace {

/// All that a leader needs. Between two copies of one program, so pointers to functions mean the same.
struct Request {
    int size = 0;
    void (*call)(const void*, Rank) = nullptr;
    SpmdOptions options;
    WaitPolicy policy;
    StoreWays ways;
    bool pinned = false;
    void (*early)(int socket) = nullptr;  ///< not a team: the new process calls this with the socket for answers
    std::array<int, most_ranks> processors{};
    alignas(64) std::array<std::byte, largest_sent_closure> closure{};
};
static_assert(std::is_trivially_copyable_v<Request>);

/// The state of a record that says why a leader could not run the team, and of the last one.
constexpr std::int32_t refusal = -2;
constexpr std::int32_t last = -1;

/// This process's end of the socket to the nursery; -1: there is none.
std::atomic<int> to_nursery{-1};

std::pair<OwnedDescriptor, OwnedDescriptor> socket_pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        throw SystemError("cannot make a socket for the processes of a team", errno);
    return {OwnedDescriptor(ends[0]), OwnedDescriptor(ends[1])};
}

void send_request(int socket, const Request& request, int answer) {
    if (send_with_descriptor(socket, std::as_bytes(std::span(&request, 1)), answer, 0) < 0)
        throw SystemError("cannot reach the process that launch() started; it may have been killed", errno);
}

/// False when the program has ended. A request without its descriptor is left with none.
bool receive_request(int socket, Request& request, OwnedDescriptor& answer) {
    Arrived arrived;
    const auto length = receive_with_descriptors(socket, std::as_writable_bytes(std::span(&request, 1)), 0, arrived);
    if (length <= 0) return false;
    answer.reset();
    if (length == sizeof request && arrived.descriptors.size() == 1) answer = std::move(arrived.descriptors.front());
    return true;
}

void send_record(int socket, const EndRecord& record) {
    while (send(socket, &record, sizeof record, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

/// Runs one team. Nothing that is thrown may leave: this process is a copy of the program before its main had begun. `group`: the
/// program's process group, so that an interrupt from its terminal ends the ranks too.
void lead(const Request& request, int answer, pid_t group) noexcept {
    std::signal(SIGCHLD, SIG_DFL);
    static_cast<void>(setpgid(0, group));
    EndRecord end;
    end.rank = last;
    try {
        inherit(request.ways);
        Program program;
        program.call = request.call;
        program.closure = request.closure.data();
        Placement placement;
        placement.policy = request.policy;
        if (request.pinned) placement.processors.assign(request.processors.begin(), request.processors.begin() + request.size);
        for (const auto& record : run_forked(request.size, program, request.options, placement, answer))
            send_record(answer, record);
    } catch (const SystemError& error) {
        end.rank = refusal;
        end.exit_code = error.number();
        end.write(said_by(error));
    } catch (const std::exception& error) {
        end.rank = refusal;
        end.write(said_by(error));
    }
    send_record(answer, end);
}

[[noreturn]] void begin_early(const Request& request, int socket) noexcept {
    std::signal(SIGCHLD, SIG_DFL);
    try {
        request.early(socket);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "penstock: %s\n", said_by(error));
    }
    _exit(0);
}

/// The nursery's life. It and what it begins for the program leave the program's process group: an interrupt from the terminal is
/// the program's to handle, and where that ends by it they end with it.
[[noreturn]] void serve(int socket) noexcept {
    std::signal(SIGCHLD, SIG_IGN);  // leaders answer for themselves
    const pid_t group = getpgrp();
    static_cast<void>(setpgid(0, 0));
    Request request;
    OwnedDescriptor answer;
    while (receive_request(socket, request, answer)) {
        if (!answer) continue;
        const pid_t leader = fork();
        if (leader == 0) {
            close(socket);
            if (request.early != nullptr) begin_early(request, answer.get());
            lead(request, answer.get(), group);
            _exit(0);
        }
        answer.reset();  // where there is no leader, the program finds its end closed
    }
    _exit(0);
}

}  // namespace

bool launched() noexcept { return to_nursery.load(std::memory_order_acquire) >= 0; }

OwnedDescriptor start_early_process(void (*program)(int socket)) {
    if (!launched())
        throw UsageError("there is no process from which others can be forked; call penstock::launch() on main's first line");
    Request request;
    request.early = program;
    auto [own, other] = socket_pair();
    send_request(to_nursery.load(std::memory_order_acquire), request, other.get());
    return std::move(own);
}

std::vector<EndRecord> run_launched(int size, const Program& program, const SpmdOptions& options, const Placement& placement) {
    if (!program.sendable)
        throw UsageError("the function that spmd shall run in processes cannot be sent to the process that launch() started: it "
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
    auto [own, answer] = socket_pair();
    send_request(to_nursery.load(std::memory_order_acquire), request, answer.get());
    answer.reset();
    std::vector<EndRecord> ends;
    for (;;) {
        EndRecord record;
        const auto length = recv(own.get(), &record, sizeof record, 0);
        if (length < 0 && errno == EINTR) continue;
        if (length != sizeof record)
            throw Error("the process that led the team ended before its ranks did; they were ended with it");
        if (record.rank == refusal) throw SystemError(std::string(record.what()), record.exit_code);
        if (record.rank == last) return ends;
        ends.push_back(record);
    }
}

}  // namespace team

void launch() {
    if (team::launched()) return;  // before the lock, which is held over the fork below
    static constinit std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (team::launched()) return;
    if (!team::has_one_thread())
        throw UsageError("launch() comes too late: this process has several threads already; call it on main's first line");
    auto [own, nursery] = team::socket_pair();
    shared_range::reserve();
    std::cout.flush();
    std::fflush(nullptr);
    // Forked twice, so that it is nobody's child: a program that waits for any of its children must not wait for this one.
    const pid_t between = fork();
    if (between < 0) throw SystemError("cannot start the process from which teams are forked", errno);
    if (between == 0) {
        const pid_t pid = fork();
        if (pid != 0) _exit(pid < 0 ? 1 : 0);
        own.reset();
        team::serve(nursery.get());
    }
    int status = 0;
    while (waitpid(between, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw SystemError("cannot start the process from which teams are forked", EAGAIN);
    team::to_nursery.store(own.take(), std::memory_order_release);
}

}  // namespace penstock
