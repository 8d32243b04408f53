// machine layer, internal: files that may not grow as they should.
#pragma once

#include <signal.h>
#include <time.h>

#include <cerrno>

namespace penstock {

/// For as long as it lives: what makes a file or shared memory larger than the process may (RLIMIT_FSIZE) fails with
/// EFBIG, as other limits do. The signal that the kernel sends besides (SIGXFSZ), which ends a program, is for programs
/// that write without looking.
class WithinFileSize {
  public:
    WithinFileSize() noexcept {
        sigset_t beyond;
        only(beyond);
        sigset_t waiting;
        sigpending(&waiting);
        waited_ = sigismember(&waiting, SIGXFSZ) == 1;
        pthread_sigmask(SIG_BLOCK, &beyond, &before_);
    }
    ~WithinFileSize() {
        const int number = errno;
        sigset_t beyond;
        only(beyond);
        constexpr timespec at_once{};
        if (!waited_) static_cast<void>(sigtimedwait(&beyond, nullptr, &at_once));
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = number;
    }
    WithinFileSize(const WithinFileSize&) = delete;
    WithinFileSize& operator=(const WithinFileSize&) = delete;

  private:
    static void only(sigset_t& set) noexcept {
        sigemptyset(&set);
        sigaddset(&set, SIGXFSZ);
    }
    sigset_t before_;
    bool waited_;
};

}  // namespace penstock
