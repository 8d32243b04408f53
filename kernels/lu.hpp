// The four procedures of a blocked LU factorisation without pivoting (SPLASH-2's LU with contiguous blocks: Woo et al.,
// ISCA 1995, section 3), A = L U with U unit-upper, so that the pivots stand on the diagonal of L.
//
// A block is contiguous and column-major: element (i, j) of a block of r rows is block[j * r + i]. Blocks on the right
// and lower edge may be smaller; every shape follows from the sizes of the spans and from `order`, the order of the
// diagonal block of the step. `Real` is float or double. For each element the operations and their order are the same
// whatever the shape, so factors are bit-equal however the blocks are distributed.
#pragma once

#include <cstdint>
#include <span>

namespace penstock::kernels::lu {

/// Factors the diagonal block (order x order) in place: L below and on the diagonal, U (unit diagonal not stored)
/// above.
template <class Real>
void factor(std::span<Real> diagonal, std::int32_t order);

/// block := block U^-1, for a block (rows x order) of the column below the factored diagonal block.
template <class Real>
void bdiv(std::span<const Real> diagonal, std::span<Real> block, std::int32_t order);

/// block := L^-1 block, for a block (order x columns) of the row to the right of the factored diagonal block.
template <class Real>
void bmodd(std::span<const Real> diagonal, std::span<Real> block, std::int32_t order);

/// block := block - left above, where left is rows x order and above is order x columns.
/// Nothing may overlap: the procedure reads and writes in an order of its own.
template <class Real>
void bmod(std::span<const Real> left, std::span<const Real> above, std::span<Real> block, std::int32_t order);

}  // namespace penstock::kernels::lu
