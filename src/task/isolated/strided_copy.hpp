// Arguments whose elements lie apart, copied to contiguous memory and back.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace penstock::isolated {

/// Copies from `strided` to `contiguous`, row-major, where `in`, else back; strides in bytes. `contiguous` then points
/// behind what was copied.
template <bool in>
void copy_strided(std::byte* strided, std::size_t element, std::span<const std::size_t> extents,
                  std::span<const std::ptrdiff_t> strides, std::byte*& contiguous) noexcept {
    const auto extent = extents.front();
    const auto stride = strides.front();
    if (extents.size() > 1) {
        for (std::size_t i = 0; i < extent; ++i)
            copy_strided<in>(strided + static_cast<std::ptrdiff_t>(i) * stride, element, extents.subspan(1),
                             strides.subspan(1), contiguous);
        return;
    }
    const bool dense = stride == static_cast<std::ptrdiff_t>(element);
    const auto step = dense ? extent * element : element;
    for (std::size_t i = 0; i < (dense ? 1 : extent); ++i, contiguous += step) {
        auto* const there = strided + static_cast<std::ptrdiff_t>(i) * stride;
        if constexpr (in) std::memcpy(contiguous, there, step);
        else std::memcpy(there, contiguous, step);
    }
}

}  // namespace penstock::isolated
