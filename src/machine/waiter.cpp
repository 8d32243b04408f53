#include "penstock/detail/machine/waiter.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <thread>
#include <utility>

#include "machine/upper_halves.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#include "penstock/topology.hpp"
#endif

namespace penstock {
namespace waiting {
namespace {

bool register_barrier() noexcept {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace

bool process_wide_barrier() noexcept {
    static const bool available = register_barrier();
    return available && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool barrier_over_processes() noexcept { return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0; }

bool accept_barriers() noexcept { return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0; }

namespace {

/// As <linux/sched/types.h> has it, which newer C libraries define too.
struct SchedulingAttributes {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime;  ///< the length of a slice, ns
    std::uint64_t deadline, period;
};

constexpr std::uint64_t short_slice = 100'000;  // ns; the least that Linux takes
constexpr std::uint64_t resets_on_fork = 1;     // a flag: what this thread starts has slices of the usual length

/// The attributes of this thread, where its slices have a length of their own (Linux since 6.12, the usual policies).
bool look_up(SchedulingAttributes& now) noexcept {
    return syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) == 0 && now.runtime != 0 &&
           (now.policy == SCHED_OTHER || now.policy == SCHED_BATCH);
}
bool change(SchedulingAttributes now, std::uint64_t slice, std::uint64_t flags = 0) noexcept {
    now.runtime = slice;
    now.flags |= flags;
    return syscall(SYS_sched_setattr, 0, &now, 0) == 0;
}

thread_local constinit bool always_brief = false;
thread_local constinit Brief* wait_under_way = nullptr;
/// Yields of this thread for which its processor is taken for busy: after one that took long.
thread_local constinit std::uint32_t busy = 0;
constexpr std::uint32_t yields_on_a_busy_processor = 256;
constexpr double long_yield = 100'000;  // ns

}  // namespace

void be_always_brief() noexcept {
    always_brief = true;
    if (SchedulingAttributes now; look_up(now)) change(now, short_slice, resets_on_fork);
}

Brief::Brief() noexcept : outermost_(wait_under_way == nullptr) {
    if (outermost_) wait_under_way = this;
}

Brief::~Brief() {
    if (!outermost_) return;
    wait_under_way = nullptr;
    if (usual_ == 0) return;
    if (SchedulingAttributes now; look_up(now) && now.runtime == short_slice) change(now, usual_);
}

void Brief::begin() noexcept {
    if (always_brief || wait_under_way == nullptr || std::exchange(wait_under_way->begun_, true)) return;
    SchedulingAttributes now;
    if (look_up(now) && now.runtime > short_slice && change(now, short_slice)) wait_under_way->usual_ = now.runtime;
}

void yield() noexcept {
    if (busy != 0) --busy, Brief::begin();
    const auto begin = Clock::ticks();
    std::this_thread::yield();
    if (Clock::nanoseconds(Clock::ticks() - begin) > long_yield) busy = yields_on_a_busy_processor;
}

void sleep_on(Doorbell& bell, std::chrono::nanoseconds longest) noexcept {
    Brief::begin();
    timespec limit{};
    limit.tv_sec = static_cast<time_t>(longest.count() / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(longest.count() % 1'000'000'000);
    // Not FUTEX_PRIVATE: the bell may lie in memory that another process maps too.
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell.parked), FUTEX_WAIT, 1u, &limit, nullptr, 0);
    forget_upper_halves();
}

bool wake(Doorbell& bell) noexcept {
    return Parking(bell.parked).wake([&] {
        syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell.parked), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    });
}

#if defined(__x86_64__)
namespace {

// UMONITOR/UMWAIT (Intel, user mode). The state C0.1 is asked for: it wakes within about 100 ns.
__attribute__((target("waitpkg"))) void user_monitor_wait(const void* line, std::uint64_t ticks) noexcept {
    _umonitor(const_cast<void*>(line));
    _umwait(1, __builtin_ia32_rdtsc() + ticks);
}

}  // namespace

bool can_doze() noexcept {
    static const bool available = Topology::here().features().monitor_wait == MonitorWait::umwait;
    return available;
}

bool doze(const void* line, std::uint64_t ticks) noexcept {
    if (!can_doze()) return false;
    user_monitor_wait(line, ticks);
    return true;
}
#else
bool can_doze() noexcept { return false; }
bool doze(const void*, std::uint64_t) noexcept { return false; }
#endif

}  // namespace waiting

WaitPolicy WaitPolicy::for_threads(double threads, double processors) noexcept {
    if (threads <= processors) return {};
    // Somebody else needs this processor: look a few times, then give it away, and do not keep asking for long.
    return {.spin = std::chrono::nanoseconds{20'000}, .spins_before_yield = 16, .longest_sleep = {}};
}

}  // namespace penstock
