// Stands before the C library's functions, because a program's own definition is the one that all of its libraries use.
#include "tests/exhaustion/refusals.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace exhaustion {
namespace {

constinit std::atomic<int> refused_kind{-1};
constinit std::atomic<long> asked{0};
constinit std::atomic<long> first_refused{0};
constinit std::atomic<long> refusals{0};
constinit std::atomic<bool> of_one_thread{false};
constinit thread_local bool of_this_thread = false;

bool refused(Kind kind) noexcept {
    if (refused_kind.load(std::memory_order_relaxed) != static_cast<int>(kind)) return false;
    if (of_one_thread.load(std::memory_order_relaxed) && !of_this_thread) return false;
    const long number = asked.fetch_add(1, std::memory_order_relaxed);
    const long first = first_refused.load(std::memory_order_relaxed);
    return number >= first && number - first < refusals.load(std::memory_order_relaxed);
}

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
using Fork = pid_t (*)();
const auto real_create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
const auto real_fork = reinterpret_cast<Fork>(dlsym(RTLD_NEXT, "fork"));

}  // namespace

const char* name_of(Kind kind) {
    constexpr const char* names[kinds] = {"memory", "mapping", "thread", "descriptor", "space", "fork"};
    return names[static_cast<int>(kind)];
}

void refuse(Kind kind, long first, long count) {
    asked.store(0);
    first_refused.store(first);
    refusals.store(count);
    refused_kind.store(static_cast<int>(kind));
}

void refuse_here(Kind kind, long which) {
    of_this_thread = true;
    of_one_thread.store(true);
    refuse(kind, which, 1);
}

long allow() {
    refused_kind.store(-1);
    of_one_thread.store(false);
    of_this_thread = false;
    return asked.load();
}

template <class Real>
auto given(Kind kind, int error, Real&& real) noexcept -> decltype(real()) {
    if (!refused(kind)) return real();
    errno = error;
    return static_cast<decltype(real())>(-1);
}

void* memory(void* (*real)(std::size_t, std::size_t), std::size_t a, std::size_t b) noexcept {
    if (!refused(Kind::memory)) return real(a, b);
    errno = ENOMEM;
    return nullptr;
}

}  // namespace exhaustion

using exhaustion::given;
using exhaustion::Kind;

extern "C" {

void* malloc(std::size_t bytes) {
    return exhaustion::memory([](std::size_t n, std::size_t) { return __libc_malloc(n); }, bytes, 0);
}
void* calloc(std::size_t count, std::size_t bytes) { return exhaustion::memory(&__libc_calloc, count, bytes); }
void* realloc(void* block, std::size_t bytes) {
    if (!exhaustion::refused(Kind::memory)) return __libc_realloc(block, bytes);
    errno = ENOMEM;
    return nullptr;
}
void* memalign(std::size_t alignment, std::size_t bytes) {
    return exhaustion::memory(&__libc_memalign, alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return exhaustion::memory(&__libc_memalign, alignment, bytes);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
    void* const got = exhaustion::memory(&__libc_memalign, alignment, bytes);
    if (got == nullptr) return ENOMEM;
    *block = got;
    return 0;
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
    return reinterpret_cast<void*>(
        given(Kind::mapping, ENOMEM, [&] { return syscall(SYS_mmap, at, bytes, protection, flags, file, offset); }));
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) noexcept {
    return exhaustion::refused(Kind::thread) ? EAGAIN : exhaustion::real_create(thread, attributes, body, argument);
}

int memfd_create(const char* name, unsigned flags) noexcept {
    return given(Kind::descriptor, EMFILE, [&] { return static_cast<int>(syscall(SYS_memfd_create, name, flags)); });
}
int eventfd(unsigned value, int flags) noexcept {
    return given(Kind::descriptor, EMFILE, [&] { return static_cast<int>(syscall(SYS_eventfd2, value, flags)); });
}
int socket(int domain, int type, int protocol) noexcept {
    return given(Kind::descriptor, EMFILE,
                 [&] { return static_cast<int>(syscall(SYS_socket, domain, type, protocol)); });
}
int socketpair(int domain, int type, int protocol, int ends[2]) noexcept {
    return given(Kind::descriptor, EMFILE,
                 [&] { return static_cast<int>(syscall(SYS_socketpair, domain, type, protocol, ends)); });
}
int pipe2(int ends[2], int flags) noexcept {
    return given(Kind::descriptor, EMFILE, [&] { return static_cast<int>(syscall(SYS_pipe2, ends, flags)); });
}

int fallocate(int file, int mode, off_t offset, off_t bytes) {
    return given(Kind::space, ENOSPC,
                 [&] { return static_cast<int>(syscall(SYS_fallocate, file, mode, offset, bytes)); });
}
int ftruncate(int file, off_t bytes) noexcept {
    return given(Kind::space, ENOSPC, [&] { return static_cast<int>(syscall(SYS_ftruncate, file, bytes)); });
}

pid_t fork() noexcept {
    return given(Kind::fork, EAGAIN, [] { return exhaustion::real_fork(); });
}

}  // extern "C"
