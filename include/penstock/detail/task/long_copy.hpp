// task layer: copies of long blocks into a local store and back.
#pragma once

#include <cstddef>

namespace penstock::long_copy {

/// Shorter blocks may lie in a first-level cache, where a plain copy is as fast or faster.
inline constexpr std::size_t least_bytes = 24 * 1024;

/// Copies `bytes`, at least `least_bytes`. The two must not overlap.
void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace penstock::long_copy
