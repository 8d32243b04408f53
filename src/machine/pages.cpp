#include "machine/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
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

std::byte* map_aligned(std::size_t length, std::size_t alignment, int protection) noexcept {
    const std::size_t spare = alignment > small() ? alignment : 0;
    void* mapped = mmap(nullptr, length + spare, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    auto* start = static_cast<std::byte*>(mapped);
    // Too much is mapped, and both ends are given back.
    const std::size_t before =
        spare == 0 ? 0 : (alignment - reinterpret_cast<std::uintptr_t>(start) % alignment) % alignment;
    if (before != 0) munmap(start, before);
    if (spare != before) munmap(start + before + length, spare - before);
    return start + before;
}

std::size_t mapped_by_huge(const std::byte* start, std::size_t length) {
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    std::ifstream in("/proc/self/smaps");
    std::size_t total = 0;
    bool ours = false;
    for (std::string line; std::getline(in, line);) {
        const auto colon = line.find(": ");
        if (colon == std::string::npos || line.find('-') < colon) {  // the head of a mapping: its addresses come first
            std::uintptr_t first = 0;
            std::uintptr_t last = 0;
            const char* const end = line.data() + line.size();
            const auto dash = std::from_chars(line.data(), end, first, 16).ptr;
            if (dash < end && *dash == '-' && std::from_chars(dash + 1, end, last, 16).ec == std::errc())
                ours = first < address + length && address < last;
            continue;
        }
        const auto key = line.substr(0, colon);
        if (!ours || (key != "AnonHugePages" && key != "ShmemPmdMapped" && key != "FilePmdMapped")) continue;
        total += std::stoull(line.substr(colon + 1)) * 1024;
    }
    return std::min(total, rounded_up(length, small()));
}

std::uint64_t available() {
    return std::min(free_on_the_host(), cgroup::memory_left().value_or(std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace penstock::pages
