#include "python/calls/task_heap.hpp"

#include <algorithm>
#include <bit>

namespace penstock::python {

TaskHeap::~TaskHeap() {
    if (forks() != made_after_) return;
    for (std::byte* run : runs_) heap_->release(run);
    for (const auto& [bytes, data] : kept_) heap_->release(data);
}

/// Nothing where all that are kept are too small, or far too large.
Block TaskHeap::take_kept(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.lower_bound(bytes);
    if (found == kept_.end() || found->first / 2 > bytes) return {};
    const Block block{place_of(found->second, found->first), found->second, found->first};
    kept_bytes_ -= block.bytes;
    kept_.erase(found);
    return block;
}

Block TaskHeap::allocate(std::size_t bytes) {
    if (bytes == 0) return {};
    std::byte* data = nullptr;
    std::size_t size = bytes;
    if (bytes > largest_small) {
        if (const Block kept = take_kept(bytes); kept.bytes != 0) return kept;
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
    const std::lock_guard lock(mutex_);
    if (block.bytes > largest_small) {
        if (kept_bytes_ + block.bytes > most_kept) return heap_->release(block.data);
        kept_.emplace(block.bytes, block.data);
        kept_bytes_ += block.bytes;
        return;
    }
    lists_[static_cast<std::size_t>(std::countr_zero(block.bytes) - std::countr_zero(smallest))].push_back(block.data);
}

}  // namespace penstock::python
