// What the tests of teams that nobody forked share: names, and programs of their own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "tests/store/support.hpp"

namespace store_tests {

/// One that no other test has.
inline std::string a_team_name() {
    static int number = 0;
    return "test-" + std::to_string(getpid()) + "-" + std::to_string(++number);
}

inline std::size_t threads_of_this_process() {
    const std::filesystem::directory_iterator entries("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

/// A process that runs `body` and exits: 0, 1 after an exception. Killed and reaped in any case.
class Program {
  public:
    template <class Body>
    explicit Program(Body body) : process_(fork()) {
        if (process_ != 0) return;
        int code = 0;
        try {
            body();
            code = testing::Test::HasFailure() ? 2 : 0;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "program: %s\n", error.what());
            code = 1;
        }
        std::fflush(nullptr);
        _exit(code);
    }
    Program(Program&& other) noexcept : process_(std::exchange(other.process_, 0)) {}
    Program& operator=(Program&&) = delete;
    ~Program() {
        if (process_ == 0) return;
        kill();
        static_cast<void>(code());
    }

    pid_t process() const { return process_; }
    void kill() const {
        if (process_ > 0) ::kill(process_, SIGKILL);
    }
    /// Waits for its end: its exit code, or the signal that ended it, negated.
    int code() {
        int status = 0;
        if (waitpid(std::exchange(process_, 0), &status, 0) < 0) return -1'000;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

  private:
    pid_t process_;
};

}  // namespace store_tests
