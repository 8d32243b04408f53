#include "machine/pages.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "machine/cgroup.hpp"

namespace penstock::pages {
namespace {

std::size_t read_huge_size() noexcept {
    try {
        std::size_t bytes = 0;
        std::ifstream in("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
        if (in >> bytes && bytes > small() && (bytes & (bytes - 1)) == 0) return bytes;
    } catch (...) {
    }
    return std::numeric_limits<std::size_t>::max();
}

std::uint64_t free_on_the_host() {
    std::ifstream in("/proc/meminfo");
    std::uint64_t total = 0;
    bool known = false;
    std::string key, unit;
    for (std::uint64_t kib = 0; in >> key >> kib; std::getline(in, unit)) {
        if (key != "MemAvailable:" && key != "SwapFree:") continue;
        known |= key == "MemAvailable:";
        total += kib * 1024;
    }
    return known ? total : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::size_t small() noexcept {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

std::size_t huge() noexcept {
    static const std::size_t bytes = read_huge_size();
    return bytes;
}

std::uint64_t available() {
    return std::min(free_on_the_host(), cgroup::memory_left().value_or(std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace penstock::pages
