// What every rank of a team sees under one address: the input and the result of an application, and the one global array of
// its shared-memory variant. Ranks that are processes inherit it, because it was made before they were forked.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "penstock/memory.hpp"

namespace penstock::apps {

/// A fixed number (at least 1) of elements, zero at first, on lines of their own. Made by the caller of spmd(). Costs and
/// errors as SharedMemory.
template <class T>
class SharedArray {
  public:
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

    explicit SharedArray(std::size_t size) : memory_{SharedMemory::create("array", size * sizeof(T))}, size_{size} {}

    T* data() const noexcept { return reinterpret_cast<T*>(memory_.data()); }
    std::size_t size() const noexcept { return size_; }
    T& operator[](std::size_t i) const noexcept { return data()[i]; }
    std::span<T> span() const noexcept { return {data(), size_}; }

  private:
    SharedMemory memory_;
    std::size_t size_;
};

}  // namespace penstock::apps
