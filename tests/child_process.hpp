// A forked child for tests, with a pipe on which it says how far it is. Killed and collected at the end.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

class ChildProcess {
  public:
    // `body(say)` runs in the child; say(c) sends one character. What it returns is the exit code.
    template <class Body>
    explicit ChildProcess(Body body) {
        int ends[2];
        if (pipe(ends) != 0) throw std::runtime_error("no pipe");
        number_ = fork();
        if (number_ < 0) throw std::runtime_error("no fork");
        if (number_ == 0) {
            close(ends[0]);
            int code = 99;
            try {
                code = body([&](char c) { static_cast<void>(!write(ends[1], &c, 1)); });
            } catch (...) {
            }
            _exit(code);
        }
        close(ends[1]);
        said_ = ends[0];
    }
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ~ChildProcess() {
        kill_now();
        collect();
        close(said_);
    }

    pid_t number() const { return number_; }

    // Waits for the next character; 0 when the child ended without one.
    char heard() const {
        char c = 0;
        return read(said_, &c, 1) == 1 ? c : '\0';
    }

    void kill_now() const {
        if (number_ > 0) kill(number_, SIGKILL);
    }

    // Waits until it is dead but leaves it for its parent to collect.
    void wait_until_dead() const {
        siginfo_t info{};
        waitid(P_PID, static_cast<id_t>(number_), &info, WEXITED | WNOWAIT);
    }

    // The exit code, or -1 when it was killed.
    int collect() {
        if (number_ <= 0) return -1;
        int status = 0;
        waitpid(std::exchange(number_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    pid_t number_ = -1;
    int said_ = -1;
};
