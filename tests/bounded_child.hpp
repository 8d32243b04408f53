// A forked child that does something which may go wrong in any way, hang included: it has a deadline, is killed and
// collected, and the test is told how it ended. What it writes to stderr is kept.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace penstock_tests {

struct Ending {
    bool hung = false;
    int signal = 0;
    int code = -1;     ///< that it exited with
    std::string said;  ///< on stderr, the first 64 KiB

    bool good() const { return !hung && signal == 0 && code == 0; }
    std::string text() const {
        return (hung          ? "it hung"
                : signal != 0 ? "signal " + std::to_string(signal)
                              : "exit code " + std::to_string(code)) +
               (said.empty() ? std::string() : "; it said: " + said);
    }
};

/// `body` returns the exit code; what it throws is said, and makes it 99.
template <class Body>
Ending ending_of(Body&& body, std::chrono::milliseconds deadline = std::chrono::seconds(10)) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no fork");
    if (child == 0) {
        setpgid(0, 0);
        signal(SIGALRM, SIG_DFL);
        // should this process, too, be ended before it ends the child
        alarm(static_cast<unsigned>(deadline.count() / 1000 + 2));
        dup2(ends[1], STDERR_FILENO);
        int code = 99;
        try {
            code = body();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "threw %s\n", error.what());
        } catch (...) {
            std::fprintf(stderr, "threw something\n");
        }
        _exit(code);
    }
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    Ending ending;
    const auto listen = [&] {
        char text[4096];
        for (ssize_t length; (length = read(ends[0], text, sizeof text)) > 0;)
            if (ending.said.size() < 65536) ending.said.append(text, static_cast<std::size_t>(length));
    };
    int status = 0;
    const auto until = std::chrono::steady_clock::now() + deadline;
    for (useconds_t pause = 200; waitpid(child, &status, WNOHANG) == 0; pause = pause < 5000 ? pause * 2 : pause) {
        listen();
        if (std::chrono::steady_clock::now() > until) {
            ending.hung = true;
            kill(child, SIGKILL);
            waitpid(child, &status, 0);  // bounded: it has been killed
            break;
        }
        usleep(pause);
    }
    kill(-child, SIGKILL);  // what it has left behind
    listen();
    close(ends[0]);
    if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
    if (WIFEXITED(status)) ending.code = WEXITSTATUS(status);
    return ending;
}

}  // namespace penstock_tests
