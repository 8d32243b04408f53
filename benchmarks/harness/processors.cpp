#include "harness/processors.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace bench {
namespace {

constexpr int most_processors = CPU_SETSIZE;

std::vector<int> current_mask() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> processors;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
    for (int i = 0; i < most_processors; ++i)
        if (CPU_ISSET(i, &set)) processors.push_back(i);
    return processors;
}

void set_mask(const std::vector<int>& processors) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int processor : processors) CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        throw std::runtime_error("the system refuses to keep a thread on processor " +
                                 std::to_string(processors.front()) + ": check the affinity mask");
}

std::string processor_model() {
    std::ifstream info{"/proc/cpuinfo"};
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    utsname system{};
    uname(&system);
    return system.machine;
}

std::string compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

}  // namespace

const std::vector<int>& allowed_processors() {
    static const std::vector<int> processors = current_mask();
    return processors;
}

void pin_this_thread(int processor) { set_mask({processor}); }

Pinned::Pinned(int processor) : before_(current_mask()) { pin_this_thread(processor); }

Pinned::~Pinned() { set_mask(before_); }

std::size_t last_level_cache_bytes() {
    std::size_t largest = 0;
    for (int index = 0; index < 8; ++index) {
        std::ifstream file{"/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size"};
        std::size_t size = 0;
        char unit = 0;
        if (!(file >> size >> unit)) continue;
        largest = std::max(largest, size * (unit == 'M' ? 1024 * 1024 : unit == 'K' ? 1024 : 1));
    }
    return largest != 0 ? largest : std::size_t{32} << 20;
}

std::vector<std::pair<std::string, std::string>> machine_facts() {
    utsname system{};
    uname(&system);
    const auto memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    return {{"processor", processor_model()},
            {"processors", std::to_string(allowed_processors().size())},
            {"last_level_cache_kib", std::to_string(last_level_cache_bytes() / 1024)},
            {"memory_gib", std::to_string(static_cast<int>(memory / (1 << 30) + 0.5))},
            {"system", std::string(system.sysname) + " " + system.release},
            {"compiler", compiler()}};
}

std::string machine_in_words() {
    const auto facts = machine_facts();
    return facts[0].second + ", " + facts[1].second + " processors, " + facts[4].second + ", " + facts[5].second;
}

}  // namespace bench
