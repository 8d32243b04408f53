// task layer: strided memory as tasks see it: a view of n dimensions, and a list of pieces (the Cell's scatter and
// gather).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

namespace penstock {

/// A view of memory that somebody else owns: Rank extents and, for each, a stride counted in elements (an mdspan with
/// layout_stride, for compilers that have none yet). Element (i, j, ...) lies at data()[i*stride(0) + j*stride(1) +
/// ...].
template <class T, std::size_t Rank>
class view {
  public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using Extents = std::array<std::size_t, Rank>;     ///< elements along each dimension
    using Strides = std::array<std::ptrdiff_t, Rank>;  ///< elements from one index to the next
    /// How many dimensions it has.
    static constexpr std::size_t rank() noexcept { return Rank; }

    constexpr view() noexcept = default;
    /// Any strides, also zero (the same element again and again) and negative (backwards).
    constexpr view(T* data, Extents extents, Strides strides) noexcept
        : data_(data), extents_(extents), strides_(strides) {}
    /// Contiguous, the last dimension fastest.
    constexpr view(T* data, Extents extents) noexcept : data_(data), extents_(extents) {
        std::ptrdiff_t stride = 1;
        for (std::size_t d = Rank; d-- > 0;) {
            strides_[d] = stride;
            stride *= static_cast<std::ptrdiff_t>(extents_[d]);
        }
    }
    /// Rows at a pitch (elements from one row to the next).
    constexpr view(T* data, std::size_t rows, std::size_t columns, std::ptrdiff_t pitch) noexcept
        requires(Rank == 2)
        : view(data, {rows, columns}, {pitch, 1}) {}
    /// The same memory, read only.
    constexpr operator view<const T, Rank>() const noexcept
        requires(!std::is_const_v<T>)
    {
        return {data_, extents_, strides_};
    }

    constexpr T* data() const noexcept { return data_; }
    /// Elements along a dimension.
    constexpr std::size_t extent(std::size_t dimension) const noexcept { return extents_[dimension]; }
    /// Elements from one index of a dimension to the next.
    constexpr std::ptrdiff_t stride(std::size_t dimension) const noexcept { return strides_[dimension]; }
    /// Of all dimensions.
    constexpr const Extents& extents() const noexcept { return extents_; }
    /// Of all dimensions.
    constexpr const Strides& strides() const noexcept { return strides_; }
    /// Number of elements.
    constexpr std::size_t size() const noexcept {
        std::size_t n = 1;
        for (auto extent : extents_) n *= extent;
        return n;
    }
    constexpr bool empty() const noexcept { return size() == 0; }

    /// The element at these indices, which are not checked.
    template <class... Index>
        requires(sizeof...(Index) == Rank)
    constexpr T& operator()(Index... index) const noexcept {
        std::ptrdiff_t offset = 0;
        std::size_t d = 0;
        ((offset += static_cast<std::ptrdiff_t>(index) * strides_[d++]), ...);
        return data_[offset];
    }

    /// Row i as a span. Only for views whose last dimension is contiguous.
    constexpr std::span<T> row(std::size_t i) const noexcept
        requires(Rank == 2)
    {
        return {data_ + static_cast<std::ptrdiff_t>(i) * strides_[0], extents_[1]};
    }

    /// The part that begins at `offset` and has `extents`.
    constexpr view part(Extents offset, Extents extents) const noexcept {
        std::ptrdiff_t at = 0;
        for (std::size_t d = 0; d < Rank; ++d) at += static_cast<std::ptrdiff_t>(offset[d]) * strides_[d];
        return {data_ + at, extents, strides_};
    }

    /// True when the elements lie one after the other in memory.
    constexpr bool contiguous() const noexcept {
        std::ptrdiff_t stride = 1;
        for (std::size_t d = Rank; d-- > 0;) {
            if (extents_[d] > 1 && strides_[d] != stride) return false;
            stride *= static_cast<std::ptrdiff_t>(extents_[d]);
        }
        return true;
    }

  private:
    T* data_ = nullptr;
    Extents extents_{};
    Strides strides_{};
};

/// A list of pieces anywhere in memory, in order. The list itself is the caller's and must live as long as the pieces.
template <class T>
class pieces {
  public:
    using element_type = T;
    constexpr pieces() noexcept = default;
    /// The list must live as long as the task.
    constexpr explicit pieces(std::span<const std::span<T>> list) noexcept : list_(list) {}

    /// How many pieces there are.
    constexpr std::size_t count() const noexcept { return list_.size(); }
    constexpr std::span<T> operator[](std::size_t i) const noexcept { return list_[i]; }
    constexpr auto begin() const noexcept { return list_.begin(); }
    constexpr auto end() const noexcept { return list_.end(); }
    /// All pieces.
    constexpr std::span<const std::span<T>> list() const noexcept { return list_; }
    /// Number of elements in all pieces together.
    constexpr std::size_t size() const noexcept {
        std::size_t n = 0;
        for (auto piece : list_) n += piece.size();
        return n;
    }

  private:
    std::span<const std::span<T>> list_;
};

}  // namespace penstock
