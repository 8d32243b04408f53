// An array of one application: aligned, present from the start, in huge pages where they can be had, so that no way of
// computing pays for the first touch of a page.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "penstock/detail/machine/memory.hpp"

namespace penstock::apps {

/// A fixed number of elements, zero at first. Costs and errors as LocalMemory.
template <class T>
class Buffer {
  public:
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

    explicit Buffer(std::size_t size) : memory_{size * sizeof(T)}, size_{size} {}

    T* data() const noexcept { return reinterpret_cast<T*>(memory_.data()); }
    std::size_t size() const noexcept { return size_; }
    T& operator[](std::size_t i) const noexcept { return data()[i]; }
    std::span<T> span() const noexcept { return {data(), size_}; }

  private:
    LocalMemory memory_;
    std::size_t size_;
};

}  // namespace penstock::apps
