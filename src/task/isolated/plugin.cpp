#include "penstock/plugin.hpp"

#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "process/fork.hpp"

namespace penstock::plugins {
namespace {

struct Loaded {
    std::map<std::string, void*, std::less<>> symbols;  // by library, a zero byte, symbol
    std::unordered_map<std::uint64_t, void*> codes;
};
constinit ProcessMutex mutex;
constinit Loaded* all = nullptr;  // outlives every thread; under the mutex

Loaded& loaded() {
    if (all == nullptr) all = new Loaded;
    return *all;
}

std::string reason() {
    const char* const text = dlerror();
    return text == nullptr ? "no reason is given" : text;
}

}  // namespace

void copy_name(std::string_view from, char* to, std::size_t room) {
    if (from.size() >= room || from.find('\0') != from.npos)
        throw UsageError("the name " + std::string(from) + " does not fit a descriptor: it may have " +
                         std::to_string(room - 1) + " bytes");
    from.copy(to, from.size());
}

void* find(const char* library, const char* symbol) {
    const std::string key = std::string(library) + '\0' + symbol;
    {
        const std::lock_guard lock(mutex);
        if (const auto found = loaded().symbols.find(key); found != loaded().symbols.end()) return found->second;
    }
    // Not under the lock: a library may do anything when it is loaded. Loaded twice it is the same.
    void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw EntryNotFound("cannot load the library " + std::string(library) + ": " + reason());
    void* const address = dlsym(handle, symbol);
    if (address == nullptr)
        throw EntryNotFound("the library " + std::string(library) + " has no symbol " + symbol + ": " + reason());
    const std::lock_guard lock(mutex);
    loaded().symbols.emplace(key, address);
    return address;
}

std::uint64_t next_code() noexcept {
    static std::atomic<std::uint64_t> count{0};
    return count.fetch_add(1, std::memory_order_relaxed) + 1;
}

void* install(std::uint64_t code, const std::byte* bytes, std::size_t size) {
    const std::lock_guard lock(mutex);
    auto& all = loaded();
    if (const auto found = all.codes.find(code); found != all.codes.end()) return found->second;
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw SystemError("cannot get memory for machine code", errno);
    std::memcpy(memory, bytes, size);
    if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0) {
        const int number = errno;
        munmap(memory, size);
        throw SystemError("the system does not let this process make code executable", number);
    }
    __builtin___clear_cache(static_cast<char*>(memory), static_cast<char*>(memory) + size);
    all.codes.emplace(code, memory);
    return memory;
}

}  // namespace penstock::plugins
