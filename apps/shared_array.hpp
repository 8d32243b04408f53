// What every rank of a team sees under one address: the input and the result of an application, and the one global
// array of its shared-memory variant. Ranks that are processes inherit it, because it was made before they were forked.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <span>
#include <type_traits>

#include "penstock/detail/machine/memory.hpp"

namespace penstock::apps {

/// Near whom the pages of an array lie.
enum class Home {
    maker,        ///< near the thread that makes it, present from the start
    first_touch,  ///< each near the rank that touches it first
};

/// A fixed number (at least 1) of elements, zero at first, on lines of their own. Made by the caller of spmd(). Costs
/// and errors as SharedMemory.
template <class T>
class SharedArray {
  public:
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

    explicit SharedArray(std::size_t size, Home home = Home::maker)
        : memory_{SharedMemory::create("array", size * sizeof(T))}, size_{size} {
        // Gives the pages back, so that the next touch allocates them; where that cannot be done they stay where they
        // are.
        if (home == Home::first_touch)
            static_cast<void>(fallocate(memory_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                                        static_cast<off_t>(memory_.size())));
    }

    T* data() const noexcept { return reinterpret_cast<T*>(memory_.data()); }
    std::size_t size() const noexcept { return size_; }
    T& operator[](std::size_t i) const noexcept { return data()[i]; }
    std::span<T> span() const noexcept { return {data(), size_}; }

  private:
    SharedMemory memory_;
    std::size_t size_;
};

}  // namespace penstock::apps
