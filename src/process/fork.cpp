#include "process/fork.hpp"

#include <pthread.h>

#include <string>

#include "machine/pages.hpp"
#include "penstock/detail/machine/waiter.hpp"
#include "penstock/error.hpp"
#include "penstock/topology.hpp"
#include "process/budget_table.hpp"

namespace penstock {

/// The list is locked before its members: nobody makes a mutex known, and then holds it, while a fork is under way.
struct Forks {
    static inline constinit std::mutex list;
    static inline constinit ProcessMutex* first = nullptr;
    static inline constinit std::uint32_t count = 0;  // written by a child before it has a second thread

    static void before() noexcept {
        list.lock();
        for (auto* one = first; one != nullptr; one = one->next_) one->mutex_.lock();
    }
    static void after() noexcept {
        for (auto* one = first; one != nullptr; one = one->next_) one->mutex_.unlock();
        list.unlock();
    }
    static void in_child() noexcept {
        ++count;
        after();
    }
};

namespace {

// Registered when the program is loaded: at first use, another thread might fork meanwhile.
[[maybe_unused]] const int registered = pthread_atfork(&Forks::before, &Forks::after, &Forks::in_child);

}  // namespace

std::uint32_t forks() noexcept { return Forks::count; }

void Origin::throw_gone(const char* what) {
    throw MachineGone(std::string(what) + " stayed behind in the parent of a fork; make a new one in the child");
}

void ProcessMutex::make_known() {
    const std::lock_guard lock(Forks::list);
    if (known_.load(std::memory_order_relaxed)) return;
    next_ = Forks::first;
    Forks::first = this;
    known_.store(true, std::memory_order_release);
}

void settle_before_fork() noexcept {
    try {
        Topology::here();
        budget::table_of_this_process();
    } catch (...) {
        // Whoever wants them next fails as well, and says why.
    }
    pages::small();
    pages::huge();
    waiting::process_wide_barrier();
    waiting::can_doze();
}

}  // namespace penstock
