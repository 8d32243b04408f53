// task layer: how large the pieces are into which for_each cuts a range.
#pragma once

#include <cstddef>

#include "penstock/error.hpp"

namespace penstock {

/// Items of a piece: a number, which pieces come near to, or automatic.
class Grain {
  public:
    /// Sized while the loop runs: large enough that handing a piece over costs little beside its work, small enough for
    /// balance and for the local store.
    constexpr Grain() noexcept = default;
    /// About so many items each, all pieces equal. Throws UsageError for zero.
    constexpr Grain(std::size_t items) : items_(items) {
        if (items == 0)
            throw UsageError("pieces of a loop have at least one item; leave the grain out to have it chosen");
    }
    constexpr bool is_automatic() const noexcept { return items_ == 0; }
    constexpr std::size_t items() const noexcept { return items_; }

  private:
    std::size_t items_ = 0;
};
inline constexpr Grain automatic_grain{};

}  // namespace penstock
