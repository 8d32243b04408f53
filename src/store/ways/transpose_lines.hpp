// Blocks of whole lines, transposed in registers.
#pragma once

#include <cstddef>

#include "penstock/transpose.hpp"

namespace penstock::transpose_lines {

/// Stores a block whose rows are a multiple of rows_at_once() and whose columns fill whole lines. Any way but the plain
/// one needs a target whose rows begin at lines; nothing is ordered after stores that go round the caches.
using Store = void (*)(const Transposition& block, StoreWay way) noexcept;

/// The best that this processor can do for elements of so many bytes; null where there is none.
Store of_element(std::size_t bytes) noexcept;

/// As many elements of a source's row as fit a register of 16 bytes.
constexpr std::size_t rows_at_once(std::size_t element) noexcept { return 16 / element; }

}  // namespace penstock::transpose_lines
