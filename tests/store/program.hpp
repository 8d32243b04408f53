// Programs of a test's own: processes beside it, with fewer descriptors if need be.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

#include "tests/store/support.hpp"

namespace store_tests {

/// A process that runs `body` and exits: 0, 1 after an exception. Killed and reaped in any case.
class Program {
  public:
    template <class Body>
    explicit Program(Body body) : process_(fork()) {
        if (process_ < 0) throw std::runtime_error("cannot fork");
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

/// Runs `body` with room for `more` descriptors beyond those that are open, in a process of its own. Its code.
template <class Body>
int with_few_descriptors(std::size_t more, Body body) {
    return Program([&] {
               const auto limit = open_descriptors() + more;
               const rlimit few{limit, limit};
               if (setrlimit(RLIMIT_NOFILE, &few) != 0) throw std::runtime_error("cannot limit descriptors");
               body();
           })
        .code();
}

}  // namespace store_tests
