#include "task/ready_queue.hpp"

#include <algorithm>

#include "penstock/ring.hpp"

namespace penstock {

DependentNode* ReadyQueue::take(const Scope* only, bool newest) noexcept {
    if (!inviting()) return nullptr;
    const Locked locked(lock_);
    const auto count = count_.load(std::memory_order_relaxed);
    for (std::size_t looked = 0; looked < count; ++looked) {
        const std::size_t place = newest ? count - 1 - looked : looked;
        DependentNode* const node = at(first_ + place);
        if (only != nullptr && node->ring()->scope() != only) continue;
        if (newest) {
            for (std::size_t i = place; i + 1 < count; ++i) at(first_ + i) = at(first_ + i + 1);
        } else {
            for (std::size_t i = place; i > 0; --i) at(first_ + i) = at(first_ + i - 1);
            ++first_;
        }
        count_.store(count - 1, std::memory_order_relaxed);
        return node;
    }
    return nullptr;
}

bool ReadyQueue::holds(const Scope& scope) noexcept {
    if (!inviting()) return false;
    const Locked locked(lock_);
    const auto count = count_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i)
        if (at(first_ + i)->ring()->scope() == &scope) return true;
    return false;
}

void ReadyQueue::grow(std::size_t count) {
    std::vector<DependentNode*> larger(std::max<std::size_t>(256, 2 * buffer_.size()));
    for (std::size_t i = 0; i < count; ++i) larger[i] = at(first_ + i);
    buffer_.swap(larger);
    first_ = 0;
}

}  // namespace penstock
