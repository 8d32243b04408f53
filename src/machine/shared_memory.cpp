#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "machine/file_size.hpp"
#include "machine/pages.hpp"
#include "machine/uninterrupted.hpp"
#include "penstock/detail/machine/memory.hpp"

namespace penstock {
namespace {

constexpr int seals_against_changes_of_size = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int seal_future_write = 0x0010;  // F_SEAL_FUTURE_WRITE, Linux 5.1
constexpr int advice_collapse = 25;        // MADV_COLLAPSE, Linux 6.1
constexpr std::size_t longest_name = 200;

// Signals interrupt this, and each time it starts anew.
int allocate(int descriptor, std::size_t bytes) {
    const WithinFileSize limited;
    return uninterrupted([&] { return fallocate(descriptor, 0, 0, static_cast<off_t>(bytes)); });
}

std::byte* map(int descriptor, std::size_t bytes, SharedMemory::Access access) {
    const int protection = access == SharedMemory::Access::read_write ? PROT_READ | PROT_WRITE : PROT_READ;
    // Huge pages can only be mapped where one could begin, by whoever asks for them and by whoever adopts the memory.
    const std::size_t length = pages::rounded_up(bytes, pages::small());
    std::byte* const place = bytes >= pages::huge() ? pages::map_aligned(length, pages::huge(), PROT_NONE) : nullptr;
    void* start = mmap(place, bytes, protection, MAP_SHARED | (place != nullptr ? MAP_FIXED : 0), descriptor, 0);
    if (start == MAP_FAILED) {
        const int number = errno;
        if (place != nullptr) munmap(place, length);
        throw SystemError(number == EPERM ? "shared memory is frozen; map it read-only" : "cannot map shared memory",
                          number);
    }
    return static_cast<std::byte*>(start);
}

int seals_of(int descriptor) { return fcntl(descriptor, F_GET_SEALS); }

}  // namespace

InvalidSharedMemory::InvalidSharedMemory(const std::string& what, std::size_t expected, std::size_t actual)
    : Error("received shared memory that cannot be used: " + what), expected_(expected), actual_(actual) {}

SharedMemory::SharedMemory(OwnedDescriptor descriptor, std::size_t bytes, Access access)
    : Mapping(map(descriptor.get(), bytes, access), bytes), descriptor_(std::move(descriptor)) {}

SharedMemory SharedMemory::create(std::string_view name, std::size_t bytes, Pages pages) {
    if (bytes == 0)
        throw UsageError("SharedMemory::create: shared memory of 0 bytes cannot be mapped; ask for at least 1");
    const std::string failure =
        "cannot get " + std::to_string(bytes) + " bytes of shared memory; ask for less or free some";
    const std::size_t length = pages::rounded_up(bytes, pages::small());
    if (length < bytes || length > pages::available()) throw SystemError(failure, ENOMEM);
    OwnedDescriptor descriptor(
        memfd_create(std::string(name.substr(0, longest_name)).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!descriptor) throw SystemError("cannot create shared memory", errno);
    if (allocate(descriptor.get(), bytes) != 0) throw SystemError(failure, errno);
    if (fcntl(descriptor.get(), F_ADD_SEALS, seals_against_changes_of_size) != 0)
        throw SystemError("cannot seal shared memory against changes of its size", errno);
    SharedMemory memory(std::move(descriptor), bytes, Access::read_write);
    if (pages == Pages::huge && bytes >= pages::huge()) {
        // Most systems give shared memory huge pages only when it is made of them afterwards. A refusal costs speed
        // only.
        static_cast<void>(madvise(memory.data(), bytes, MADV_HUGEPAGE));
        static_cast<void>(madvise(memory.data(), bytes, advice_collapse));
    }
    return memory;
}

SharedMemory SharedMemory::adopt(int number, std::size_t bytes, Access access) {
    OwnedDescriptor descriptor(number);
    struct stat status{};
    if (fstat(number, &status) != 0) throw SystemError("cannot look at the shared memory that was received", errno);
    const int seals = seals_of(number);
    const auto actual = static_cast<std::size_t>(status.st_size);
    if (seals < 0 || (seals & seals_against_changes_of_size) != seals_against_changes_of_size)
        throw InvalidSharedMemory("it is not sealed, so its size could change; create it with SharedMemory::create",
                                  bytes, actual);
    if (actual == 0 || actual < bytes)
        throw InvalidSharedMemory(
            "it has " + std::to_string(actual) + " bytes and should have " + std::to_string(bytes), bytes, actual);
    return {std::move(descriptor), actual, access};
}

void SharedMemory::freeze() {
    if (frozen()) return;
    if (fcntl(descriptor(), F_ADD_SEALS, seal_future_write | F_SEAL_SEAL) != 0)
        throw SystemError("cannot freeze shared memory (that needs Linux 5.1)", errno);
}

bool SharedMemory::frozen() const noexcept {
    const int seals = seals_of(descriptor());
    return seals >= 0 && (seals & seal_future_write) != 0;
}

}  // namespace penstock
