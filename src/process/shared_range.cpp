#include "process/shared_range.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <map>
#include <mutex>

#include "penstock/error.hpp"
#include "process/fork.hpp"

namespace penstock::shared_range {
namespace {

constexpr std::size_t largest = std::size_t{1} << 40;
constexpr std::size_t smallest = std::size_t{1} << 32;

struct Range {
    ProcessMutex mutex;
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    std::map<std::size_t, std::size_t>* taken = nullptr;  // offset to bytes; never destroyed

    void reserve() noexcept {
        // A limit of addresses (RLIMIT_AS) may allow less.
        for (std::size_t wish = largest; base == nullptr && wish >= smallest; wish /= 2) {
            void* const got = mmap(nullptr, wish, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (got == MAP_FAILED) continue;
            base = static_cast<std::byte*>(got);
            bytes = wish;
        }
    }
};

constinit Range all;

}  // namespace

void reserve() noexcept {
    const std::lock_guard lock(all.mutex);
    all.reserve();
}

Window take(std::size_t bytes) {
    const std::lock_guard lock(all.mutex);
    all.reserve();
    if (all.taken == nullptr) all.taken = new std::map<std::size_t, std::size_t>;
    std::size_t offset = 0;
    for (const auto& [begin, length] : *all.taken) {
        if (begin >= offset && begin - offset >= bytes) break;
        offset = (begin + length + bytes - 1) & ~(bytes - 1);
    }
    if (offset > all.bytes || all.bytes - offset < bytes)
        throw SystemError(
            "there are no addresses left for a shared heap; destroy machines and arrays that are not needed", ENOMEM);
    all.taken->emplace(offset, bytes);
    return {all.base + offset, bytes};
}

void give_back(Window window) noexcept {
    const std::lock_guard lock(all.mutex);
    static_cast<void>(
        mmap(window.base, window.bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
    all.taken->erase(static_cast<std::size_t>(window.base - all.base));
}

std::size_t size() noexcept {
    const std::lock_guard lock(all.mutex);
    all.reserve();
    return all.bytes;
}

}  // namespace penstock::shared_range
