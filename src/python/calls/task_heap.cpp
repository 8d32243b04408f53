#include "python/calls/task_heap.hpp"

#include <algorithm>
#include <bit>

namespace penstock::python {

TaskHeap::~TaskHeap() {
    if (forks() != made_after_) return;
    for (std::byte* run : runs_) heap_->release(run);
}

Block TaskHeap::allocate(std::size_t bytes) {
    if (bytes == 0) return {};
    std::byte* data = nullptr;
    std::size_t size = bytes;
    if (bytes > largest_small) {
        data = heap_->allocate(bytes);
    } else {
        size = std::max(smallest, std::bit_ceil(bytes));
        const std::lock_guard lock(mutex_);
        auto& list = lists_[static_cast<std::size_t>(std::countr_zero(size) - std::countr_zero(smallest))];
        if (list.empty()) {
            runs_.reserve(runs_.size() + 1);
            std::byte* const run = heap_->allocate(run_bytes);
            runs_.push_back(run);
            for (std::size_t at = run_bytes; at >= size; at -= size) list.push_back(run + at - size);
        }
        data = list.back();
        list.pop_back();
    }
    return {place_of(data, size), data, size};
}

void TaskHeap::free(const Block& block) noexcept {
    if (block.bytes == 0 || forks() != made_after_) return;
    if (block.bytes > largest_small) return heap_->release(block.data);
    const std::lock_guard lock(mutex_);
    lists_[static_cast<std::size_t>(std::countr_zero(block.bytes) - std::countr_zero(smallest))].push_back(block.data);
}

}  // namespace penstock::python
