#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <new>
#include <set>

#include "machine/detection.hpp"
#include "penstock/error.hpp"
#include "trace/text.hpp"

namespace penstock {
namespace {

constexpr int most_processors = 1 << 20;

// A mask of the size that the kernel wants: it refuses one that is smaller than its own.
class Mask {
  public:
    explicit Mask(int processors) : words_(CPU_ALLOC_SIZE(processors) / sizeof(unsigned long)) {}
    cpu_set_t* set() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
    std::size_t bytes() const { return words_.size() * sizeof(unsigned long); }
    int bits() const { return static_cast<int>(bytes() * 8); }

  private:
    std::vector<unsigned long> words_;
};

void add_allowed_of(pid_t thread, std::set<int>& allowed) {
    for (int size = CPU_SETSIZE; size <= most_processors; size *= 2) {
        Mask mask(size);
        if (sched_getaffinity(thread, mask.bytes(), mask.set()) == 0) {
            for (int i = 0; i < mask.bits(); ++i)
                if (CPU_ISSET_S(static_cast<std::size_t>(i), mask.bytes(), mask.set())) allowed.insert(i);
            return;
        }
        if (errno != EINVAL) return;
    }
}

// What the thread that loaded the library could use then: a main thread that is alone and pinned tells nothing of the
// process.
const std::set<int>& at_load() {
    static const std::set<int> mask = [] {
        std::set<int> allowed;
        add_allowed_of(0, allowed);
        return allowed;
    }();
    return mask;
}
[[maybe_unused]] const auto& looked_at_load = at_load();

bool run_this_thread_on(std::span<const Processor> processors) {
    if (processors.empty()) return false;
    const int last = std::ranges::max(processors, {}, &Processor::index).index;
    if (last >= most_processors) return false;
    try {
        Mask mask(std::max(last + 1, CPU_SETSIZE));
        for (const auto& one : processors) CPU_SET_S(static_cast<std::size_t>(one.index), mask.bytes(), mask.set());
        return sched_setaffinity(0, mask.bytes(), mask.set()) == 0;
    } catch (const std::bad_alloc&) {  // a thread that begins runs anywhere
        return false;
    }
}

}  // namespace

std::vector<int> processors_of_this_process() {
    std::set<int> allowed = at_load();
    add_allowed_of(0, allowed);
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
        if (const auto thread = trace::number_of<pid_t>(entry.path().filename().string()))
            add_allowed_of(*thread, allowed);
    }
    if (allowed.empty()) {  // a kernel that does not tell: all that are online
        const long online = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
        for (int i = 0; i < online; ++i) allowed.insert(i);
    }
    return {allowed.begin(), allowed.end()};
}

bool pin_this_thread(int processor) {
    if (processor < 0)
        throw UsageError("pin_this_thread: there is no processor " + std::to_string(processor) +
                         "; give an index from Topology::here().processors()");
    Processor only;
    only.index = processor;
    return run_this_thread_on({&only, 1});
}

bool unpin_this_thread() { return run_this_thread_on(Topology::here().processors()); }

int current_processor() noexcept { return sched_getcpu(); }

void name_this_thread(std::string_view name) noexcept {
    std::array<char, 16> cut{};  // the kernel's limit, with the final zero
    name.copy(cut.data(), cut.size() - 1);
    pthread_setname_np(pthread_self(), cut.data());
}

}  // namespace penstock
