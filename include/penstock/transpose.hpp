// store layer: rows become columns on their way to another core, a whole line at a time.
//
// Single words stored into scattered remote lines cost a transfer each (with 2-D FFTs of 256 x 256 on 16 cores that
// lost to pulling). So blocks of one line by one line, 8 x 8 elements of 8 bytes, are transposed in registers, and each
// line is written once and leaves by the way that is asked for. `./bench fft2d` shows what that gains.
#pragma once

#include <cstddef>

#include "penstock/store_way.hpp"

namespace penstock {

/// The element in row r and column c of the target is the one in row c and column r of the source.
struct Transposition {
    std::byte* to = nullptr;          ///< the first element to write
    const std::byte* from = nullptr;  ///< the first to read
    std::size_t rows = 0;             ///< of the target: columns of the source
    std::size_t columns = 0;          ///< of the target: rows of the source
    std::size_t to_pitch = 0;         ///< elements from one row to the next
    std::size_t from_pitch = 0;       ///< elements from one row to the next
    std::size_t element = 0;          ///< bytes of one element, > 0
};

/// Stores a transpose. The two must not overlap. When it returns, a release store of this thread publishes it, whatever
/// the way. Elements of 4, 8 and 16 bytes go through registers where Penstock was built with Highway; lines are written
/// whole where the target's rows are a whole number of lines apart.
void store_transposed(const Transposition& block, StoreWay way) noexcept;

}  // namespace penstock
