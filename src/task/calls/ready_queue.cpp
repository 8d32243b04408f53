#include "task/calls/ready_queue.hpp"

#include <algorithm>
#include <mutex>

#include "penstock/detail/task/ring.hpp"

namespace penstock {

void ReadyQueue::push(std::span<DependentNode* const> nodes) {
    const std::lock_guard locked(lock_);
    auto count = count_.load(std::memory_order_relaxed);
    for (DependentNode* const node : nodes) {
        if (count == mask_ + 1) [[unlikely]]
            grow(count);
        at(first_ + count++) = node;
    }
    count_.store(count, std::memory_order_relaxed);
}

std::size_t ReadyQueue::take_oldest(std::span<DependentNode*> room) noexcept {
    if (!inviting()) return 0;
    const std::lock_guard locked(lock_);
    const auto count = count_.load(std::memory_order_relaxed);
    const auto taken = std::min(static_cast<std::uint32_t>(room.size()), (count + 1) / 2);
    for (std::uint32_t i = 0; i < taken; ++i) room[i] = at(first_++);
    set_count(count - taken);
    return taken;
}

DependentNode* ReadyQueue::take(const Scope* only, bool newest) noexcept {
    if (!inviting()) return nullptr;
    const std::lock_guard locked(lock_);
    const auto count = count_.load(std::memory_order_relaxed);
    for (std::uint32_t looked = 0; looked < count; ++looked) {
        const std::uint32_t place = newest ? count - 1 - looked : looked;
        DependentNode* const node = at(first_ + place);
        if (only != nullptr && node->ring()->scope() != only) continue;
        if (newest) {
            for (std::uint32_t i = place; i + 1 < count; ++i) at(first_ + i) = at(first_ + i + 1);
        } else {
            for (std::uint32_t i = place; i > 0; --i) at(first_ + i) = at(first_ + i - 1);
            ++first_;
        }
        set_count(count - 1);
        return node;
    }
    return nullptr;
}

bool ReadyQueue::holds(const Scope& scope) noexcept {
    if (!inviting()) return false;
    const std::lock_guard locked(lock_);
    const auto count = count_.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < count; ++i)
        if (at(first_ + i)->ring()->scope() == &scope) return true;
    return false;
}

void ReadyQueue::set_count(std::uint32_t count) noexcept {
    count_.store(count, std::memory_order_relaxed);
    if (count != 0 || places_ == near_.data()) return;
    places_ = near_.data();
    mask_ = near_places - 1;
}

void ReadyQueue::grow(std::uint32_t count) {
    std::vector<DependentNode*> larger;
    if (places_ == near_.data() && !far_.empty()) larger.swap(far_);
    else larger.resize(std::max<std::size_t>(256, 2 * far_.size()));
    for (std::uint32_t i = 0; i < count; ++i) larger[i] = at(first_ + i);
    far_.swap(larger);
    places_ = far_.data();
    mask_ = static_cast<std::uint32_t>(far_.size()) - 1;
    first_ = 0;
}

}  // namespace penstock
