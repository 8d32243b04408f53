// The program sends it the address of a function and one end of a socket. For each it forks a process, which calls the
// function with the socket. All of them are forked from one image, so the address means the same in all.
#include "process/nursery.hpp"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "machine/said_by.hpp"
#include "machine/uninterrupted.hpp"
#include "penstock/error.hpp"
#include "penstock/launch.hpp"
#include "process/descriptor_message.hpp"
#include "process/shared_range.hpp"

namespace penstock {
namespace process {
namespace {

using EarlyProgram = void (*)(int socket);

/// This process's end of the socket to the nursery; -1: there is none.
std::atomic<int> to_nursery{-1};

/// Many where nobody can tell.
int threads_of_this_process() {
    const std::unique_ptr<DIR, int (*)(DIR*)> threads(opendir("/proc/self/task"), &closedir);
    if (threads == nullptr) return std::numeric_limits<int>::max();
    int count = 0;
    while (const auto* const entry = readdir(threads.get()))
        if (entry->d_name[0] != '.') ++count;
    return count;
}

std::pair<OwnedDescriptor, OwnedDescriptor> socket_pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        throw SystemError("cannot make a socket for a process", errno);
    return {OwnedDescriptor(ends[0]), OwnedDescriptor(ends[1])};
}

/// Nothing that is thrown may leave: this process is a copy of the program before its main had begun.
[[noreturn]] void begin(EarlyProgram program, int socket) noexcept {
    std::signal(SIGCHLD, SIG_DFL);
    try {
        program(socket);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "penstock: %s\n", said_by(error));
    }
    _exit(0);
}

/// The nursery's life. It and what it begins for the program leave the program's process group: an interrupt from the
/// terminal is the program's to handle, and where that ends by it they end with it.
[[noreturn]] void serve(int socket) noexcept {
    std::signal(SIGCHLD, SIG_IGN);  // what it begins answers for itself
    static_cast<void>(setpgid(0, 0));
    for (;;) {
        EarlyProgram program = nullptr;
        Arrived arrived;
        const auto length =
            receive_with_descriptors(socket, std::as_writable_bytes(std::span(&program, 1)), 0, arrived);
        if (length <= 0) _exit(0);  // the program has ended
        if (length != sizeof program || arrived.descriptors.size() != 1) continue;
        if (fork() == 0) {
            close(socket);
            begin(program, arrived.descriptors.front().get());
        }
        // Where no process was begun, the program finds its end closed.
    }
}

}  // namespace

bool has_one_thread() {
    for (int tries = 0; tries < 100; ++tries) {
        if (threads_of_this_process() == 1) return true;
        std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    return false;
}

bool launched() noexcept { return to_nursery.load(std::memory_order_acquire) >= 0; }

OwnedDescriptor start_early(EarlyProgram program) {
    if (!launched())
        throw UsageError(
            "there is no process from which others can be forked; call penstock::launch() on main's first line");
    auto [own, other] = socket_pair();
    if (send_with_descriptor(to_nursery.load(std::memory_order_acquire), std::as_bytes(std::span(&program, 1)),
                             other.get(), 0) < 0)
        throw SystemError("cannot reach the process that launch() started; it may have been killed", errno);
    return std::move(own);
}

}  // namespace process

void launch() {
    if (process::launched()) return;  // before the lock, which is held over the fork below
    static constinit std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (process::launched()) return;
    if (!process::has_one_thread())
        throw UsageError(
            "launch() comes too late: this process has several threads already; call it on main's first line");
    auto [own, nursery] = process::socket_pair();
    shared_range::reserve();
    std::cout.flush();
    std::fflush(nullptr);
    // Forked twice, so that it is nobody's child: a program that waits for any of its children must not wait for this
    // one.
    const pid_t between = fork();
    if (between < 0) throw SystemError("cannot start the process from which others are forked", errno);
    if (between == 0) {
        const pid_t pid = fork();
        if (pid != 0) _exit(pid < 0 ? 1 : 0);
        own.reset();
        process::serve(nursery.get());
    }
    int status = 0;
    uninterrupted([&] { return waitpid(between, &status, 0); });
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw SystemError("cannot start the process from which others are forked", EAGAIN);
    process::to_nursery.store(own.take(), std::memory_order_release);
}

}  // namespace penstock
