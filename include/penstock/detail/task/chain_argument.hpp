// task layer: what stands for memory while a chain is described: its parameters, which each issue gives anew, and its
// local blocks, which lie in the local store of whichever target runs it. in(x), out(x) and inout(x) tag them as they
// tag memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "penstock/argument.hpp"
#include "penstock/view.hpp"

namespace penstock {
namespace chain {

/// Which bytes of a chain something stands for.
struct Location {
    std::uint64_t chain = 0;  ///< id of the chain's description
    bool local = false;       ///< a local block, not a parameter
    std::uint32_t index = 0;  ///< of the parameter or block
    std::size_t offset = 0;   ///< bytes from its beginning
};

/// The number of elements of a parameter that takes any number.
inline constexpr std::size_t any_count = std::dynamic_extent;

/// An argument of a step that stands for memory. `Shape` is std::span<T> or view<T, Rank>, as in Tagged.
template <Access access_, class Shape_, bool staged_ = false>
struct Argument {
    static constexpr Access access = access_;
    using Shape = Shape_;
    using AsTagged = Tagged<access_, Shape_, staged_>;
    Location place;
    std::size_t count;  ///< elements, or any_count
    Shape packed;       ///< extents and strides of a block; the data pointer means nothing
};

/// Throws UsageError unless offset .. offset + count lies within `size` elements (or the size is not known yet).
void check_part(std::size_t offset, std::size_t count, std::size_t size);

}  // namespace chain

/// Contiguous elements of a chain: a span parameter, an object parameter (of one element), or a local block.
template <class T>
class ChainSpan {
  public:
    using StandsForMemory = void;
    using element_type = T;

    ChainSpan(chain::Location place, std::size_t count) noexcept : place_(place), count_(count) {}

    /// A part. Where the number of elements is not known before the issue, each issue is held against what its parts
    /// need.
    ChainSpan subspan(std::size_t offset, std::size_t count) const {
        chain::check_part(offset, count, count_);
        auto part = place_;
        part.offset += offset * sizeof(T);
        return {part, count};
    }
    ChainSpan first(std::size_t count) const { return subspan(0, count); }
    /// Number of elements, or chain::any_count.
    std::size_t size() const noexcept { return count_; }

    template <Access access>
    auto tagged() const {
        static_assert(access == Access::in || !std::is_const_v<T>,
                      "penstock: out and inout need a parameter of the chain that is not const");
        return chain::Argument<access, std::span<tagging::Element<access, T>>>{place_, count_, {}};
    }

  private:
    chain::Location place_;
    std::size_t count_;
};

/// A view parameter of a chain, or a local block of several dimensions.
template <class T, std::size_t Rank>
class ChainView {
  public:
    using StandsForMemory = void;
    using element_type = T;

    ChainView(chain::Location place, view<T, Rank> shape) noexcept : place_(place), shape_(shape) {}

    /// The elements of a local block in one row. Not for parameters, whose rows may lie apart: throws UsageError.
    ChainSpan<T> flat() const {
        chain::check_part(0, place_.local ? 0 : 1, 0);
        return {place_, shape_.size()};
    }
    const typename view<T, Rank>::Extents& extents() const noexcept { return shape_.extents(); }

    template <Access access>
    auto tagged() const {
        static_assert(access == Access::in || !std::is_const_v<T>,
                      "penstock: out and inout need a parameter of the chain that is not const");
        return chain::Argument<access, view<tagging::Element<access, T>, Rank>>{place_, chain::any_count, shape_};
    }

  private:
    chain::Location place_;
    view<T, Rank> shape_;
};

/// A scalar parameter of a chain. A step's parameter must have exactly this type.
template <class T>
class ChainScalar {
  public:
    explicit ChainScalar(chain::Location place) noexcept : place_(place) {}
    const chain::Location& place() const noexcept { return place_; }

  private:
    chain::Location place_;
};

/// Asks that the step's argument be copied to contiguous memory of the local store first, and written back after the
/// step.
template <Access access, class Shape, bool already>
constexpr auto staged(chain::Argument<access, Shape, already> argument) {
    return chain::Argument<access, Shape, true>{argument.place, argument.count, argument.packed};
}

}  // namespace penstock
