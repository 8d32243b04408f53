#include "penstock/detail/task/local_store.hpp"

namespace penstock {
namespace {

constexpr std::size_t alignment = LocalStore::alignment;

std::byte* aligned(std::byte* memory) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    return memory + ((alignment - address % alignment) % alignment);
}

}  // namespace

std::byte* LocalStore::allocate(std::size_t bytes) {
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    if (rounded < bytes) throw std::bad_alloc();
    if (memory_ == nullptr && capacity_ != 0) {
        memory_ = std::make_unique_for_overwrite<std::byte[]>(capacity_ + alignment);
        base_ = aligned(memory_.get());
    }
    if (rounded <= capacity_ - used_) {
        auto* const block = base_ + used_;
        used_ += rounded;
        return block;
    }
    heap_.push_back(std::make_unique_for_overwrite<std::byte[]>(rounded + alignment));
    return aligned(heap_.back().get());
}

}  // namespace penstock
