#include "penstock/heap.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <iterator>
#include <string>

#include "machine/file_size.hpp"
#include "machine/pages.hpp"
#include "machine/uninterrupted.hpp"
#include "penstock/detail/machine/owned_descriptor.hpp"
#include "penstock/error.hpp"
#include "process/shared_range.hpp"
#include "task/isolated/heap_mapping.hpp"

namespace penstock {
namespace {

constexpr std::size_t least_bytes = std::size_t{1} << 30;
/// From here on a freed block's pages go back to the system.
constexpr std::size_t worth_returning = std::size_t{1} << 20;

std::size_t addresses_of_a_heap() {
    const auto memory =
        static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return std::min(std::max(least_bytes, std::bit_ceil(memory)), std::max(least_bytes, shared_range::size() / 16));
}

}  // namespace

std::shared_ptr<SharedHeap> SharedHeap::create(std::size_t addresses) {
    const auto bytes = addresses == 0 ? addresses_of_a_heap() : addresses;
    const WithinFileSize limited;
    OwnedDescriptor descriptor(memfd_create("penstock heap", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!descriptor) throw SystemError("cannot create a shared heap", errno);
    if (ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0 ||
        fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        throw SystemError("cannot give a shared heap its size", errno);
    const std::shared_ptr<SharedHeap> heap(new SharedHeap);
    const auto window = shared_range::take(bytes);
    heap->base_ = window.base;
    heap->size_ = bytes;
    heap->process_ = getpid();
    if (!map_heap(window.base, bytes, descriptor.get())) throw SystemError("cannot map a shared heap", errno);
    heap->descriptor_ = descriptor.take();
    heap->free_.emplace(0, bytes);
    return heap;
}

SharedHeap::~SharedHeap() {
    if (base_ != nullptr) shared_range::give_back({base_, size_});
    if (descriptor_ >= 0) close(descriptor_);
}

void SharedHeap::give_memory(std::size_t offset, std::size_t bytes) const {
    const auto page = pages::small();
    const auto from = offset & ~(page - 1);
    const auto length = pages::rounded_up(offset + bytes, page) - from;
    const WithinFileSize limited;
    if (uninterrupted(
            [&] { return fallocate(descriptor_, 0, static_cast<off_t>(from), static_cast<off_t>(length)); }) != 0)
        throw SystemError(
            "cannot get " + std::to_string(bytes) + " bytes for the shared heap; ask for less or free some", errno);
}

std::byte* SharedHeap::allocate(std::size_t bytes) {
    if (process_ != getpid())
        throw MachineGone("this shared heap stayed behind in the parent of a fork; make a machine in the child");
    const auto rounded = pages::rounded_up(std::max<std::size_t>(bytes, 1), alignment);
    if (rounded < bytes || rounded > size_ || (rounded >= worth_returning && rounded > pages::available()))
        throw SystemError(
            "cannot get " + std::to_string(bytes) + " bytes for the shared heap; ask for less or free some", ENOMEM);
    const std::lock_guard lock(mutex_);
    // The first hole that is large enough: what lives long gathers at the front.
    const auto hole =
        std::find_if(free_.begin(), free_.end(), [&](const auto& each) { return each.second >= rounded; });
    if (hole == free_.end())
        throw SystemError("the shared heap has no " + std::to_string(bytes) + " bytes in one piece; free some", ENOMEM);
    const auto [offset, length] = *hole;
    give_memory(offset, rounded);
    if (length > rounded) used_.emplace(offset, rounded);
    auto rest = free_.extract(hole);
    if (length > rounded) {
        rest.key() = offset + rounded;
        rest.mapped() = length - rounded;
        free_.insert(std::move(rest));
    } else {
        used_.insert(std::move(rest));
    }
    used_bytes_ += rounded;
    return base_ + offset;
}

void SharedHeap::release(void* block) noexcept {
    if (block == nullptr || process_ != getpid()) return;
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(block) - base_);
    const std::lock_guard lock(mutex_);
    auto freed = used_.extract(offset);
    if (!freed) return;
    const auto bytes = freed.mapped();
    // The note of the block becomes that of the hole, and needs no memory.
    const auto hole = free_.insert(std::move(freed)).position;
    if (const auto after = std::next(hole); after != free_.end() && after->first == offset + bytes) {
        hole->second += after->second;
        free_.erase(after);
    }
    if (const auto before = hole == free_.begin() ? hole : std::prev(hole); before->first + before->second == offset) {
        before->second += hole->second;
        free_.erase(hole);
    }
    used_bytes_ -= bytes;
    const auto page = pages::small();
    if (const auto from = pages::rounded_up(offset, page), until = (offset + bytes) & ~(page - 1);
        bytes >= worth_returning && from < until)
        static_cast<void>(fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
                                    static_cast<off_t>(until - from)));
}

SharedHeap::Place SharedHeap::place_of(const void* address) const {
    if (!contains(address, 0))
        throw UsageError("this address does not lie in the shared heap; take memory from machine.array");
    return {0, static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base_)};
}

int SharedHeap::descriptor(std::uint32_t segment) const {
    if (segment != 0) throw UsageError("a shared heap has one segment, number 0, but not " + std::to_string(segment));
    return descriptor_;
}

std::size_t SharedHeap::used() const noexcept {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
}

}  // namespace penstock
