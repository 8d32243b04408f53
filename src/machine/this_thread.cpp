#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <new>

#include "machine/affinity.hpp"
#include "penstock/error.hpp"
#include "penstock/topology.hpp"

namespace penstock {

bool pin_this_thread(int processor) {
    if (processor < 0)
        throw UsageError("pin_this_thread: there is no processor " + std::to_string(processor) +
                         "; give an index from Topology::here().processors()");
    try {
        return affinity::set_for_this_thread({processor});
    } catch (const std::bad_alloc&) {  // a thread that begins runs anywhere
        return false;
    }
}

bool unpin_this_thread() {
    try {
        std::vector<int> all;
        for (const auto& processor : Topology::here().processors()) all.push_back(processor.index);
        return affinity::set_for_this_thread(all);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

int current_processor() noexcept { return sched_getcpu(); }

void name_this_thread(std::string_view name) noexcept {
    std::array<char, 16> cut{};  // the kernel's limit, with the final zero
    std::copy_n(name.begin(), std::min(name.size(), cut.size() - 1), cut.begin());
    pthread_setname_np(pthread_self(), cut.data());
}

}  // namespace penstock
