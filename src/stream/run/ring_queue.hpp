// A first-in first-out queue of one thread, in one block of memory that grows by doubling and never shrinks.
#pragma once

#include <memory>
#include <utility>

#include "stream/run/patiently.hpp"

namespace penstock::streaming {

template <class T>
class RingQueue {
  public:
    RingQueue() = default;
    RingQueue(const RingQueue&) = delete;
    bool empty() const noexcept { return first_ == last_; }
    /// Would one more need memory?
    bool full() const noexcept { return last_ - first_ == capacity_; }
    std::size_t size() const noexcept { return last_ - first_; }
    T& front() noexcept { return slots_[first_ & mask_]; }
    const T& front() const noexcept { return slots_[first_ & mask_]; }
    T& operator[](std::size_t i) noexcept { return slots_[(first_ + i) & mask_]; }
    void push(T item) {
        if (last_ - first_ == capacity_) [[unlikely]]
            grow();
        slots_[last_++ & mask_] = std::move(item);
    }
    void push_front(T item) {
        if (last_ - first_ == capacity_) [[unlikely]]
            grow();
        slots_[--first_ & mask_] = std::move(item);
    }
    /// From here on `count` items find room without memory being asked for.
    void reserve(std::size_t count) {
        while (capacity_ < count) grow();
    }
    T pop() noexcept { return std::move(slots_[first_++ & mask_]); }

  private:
    [[gnu::noinline]] void grow() {
        const auto capacity = capacity_ == 0 ? std::size_t{8} : capacity_ * 2;
        auto slots = patiently([&] { return std::make_unique<T[]>(capacity); });
        const auto count = size();
        for (std::size_t i = 0; i < count; ++i) slots[i] = std::move((*this)[i]);
        slots_ = std::move(slots);
        capacity_ = capacity;
        mask_ = capacity - 1;
        first_ = 0;
        last_ = count;
    }

    std::size_t first_ = 0;
    std::size_t last_ = 0;
    std::size_t mask_ = 0;
    std::unique_ptr<T[]> slots_;
    std::size_t capacity_ = 0;
};

}  // namespace penstock::streaming
