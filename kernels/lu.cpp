#include "kernels/lu.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace penstock::kernels::lu {
namespace {

// 64 bytes of one column are what stays in the registers of a 16-register machine of 16 bytes each. Written as vectors:
// of loops over elements, and of loops with constant bounds, g++ 12 makes code that is 2 to 6 times slower in one
// precision or the other.
template <class Real>
struct Vector {
    typedef Real Type __attribute__((vector_size(16), aligned(alignof(Real)), may_alias));  // may lie anywhere
    static constexpr std::size_t lanes = 16 / sizeof(Real);
};

// column -= sum over k of panel(:, k) * factors[k], for k from 0 to count, in this order: four vectors of rows.
template <class Real>
inline void subtract_four(const Real* __restrict panel, std::size_t pitch, const Real* __restrict factors,
                          std::size_t count, Real* __restrict column) {
    using Lanes = typename Vector<Real>::Type;
    auto* const to = reinterpret_cast<Lanes*>(column);
    Lanes first = to[0], second = to[1], third = to[2], fourth = to[3];
    for (std::size_t k = 0; k < count; ++k) {
        const auto* const rows = reinterpret_cast<const Lanes*>(panel + k * pitch);
        const Real factor = factors[k];
        first -= rows[0] * factor;
        second -= rows[1] * factor;
        third -= rows[2] * factor;
        fourth -= rows[3] * factor;
    }
    to[0] = first;
    to[1] = second;
    to[2] = third;
    to[3] = fourth;
}

// The same of one vector, or of one number.
template <class Number, class Real>
inline void subtract_one(const Real* __restrict panel, std::size_t pitch, const Real* __restrict factors,
                         std::size_t count, Real* __restrict column) {
    Number sum = *reinterpret_cast<const Number*>(column);
    for (std::size_t k = 0; k < count; ++k) sum -= *reinterpret_cast<const Number*>(panel + k * pitch) * factors[k];
    *reinterpret_cast<Number*>(column) = sum;
}

// The same for any number of rows.
template <class Real>
inline void subtract_products(const Real* __restrict panel, std::size_t pitch, const Real* __restrict factors,
                              std::size_t count, Real* __restrict column, std::size_t rows) {
    using Lanes = typename Vector<Real>::Type;
    constexpr std::size_t lanes = Vector<Real>::lanes;
    std::size_t i = 0;
    for (; i + 4 * lanes <= rows; i += 4 * lanes) subtract_four(panel + i, pitch, factors, count, column + i);
    for (; i + lanes <= rows; i += lanes) subtract_one<Lanes>(panel + i, pitch, factors, count, column + i);
    for (; i < rows; ++i) subtract_one<Real>(panel + i, pitch, factors, count, column + i);
}

// block (rows x columns) -= left (rows x order) above (order x columns).
template <class Real>
inline void multiply_subtract(const Real* __restrict left, const Real* __restrict above, Real* __restrict block,
                              std::size_t rows, std::size_t columns, std::size_t order) {
    for (std::size_t j = 0; j < columns; ++j) {
        subtract_products(left, rows, above + j * order, order, block + j * rows, rows);
    }
}

// X := X T^-1, where X is rows x order and column-major, and T is upper triangular: T(k, j) is at triangle[j * along +
// k * across]. With a unit diagonal nothing is divided. Left-looking, so that a column of X is stored once.
template <bool UnitDiagonal, class Real>
inline void solve_from_right(const Real* __restrict triangle, std::size_t along, std::size_t across, Real* __restrict x,
                             std::size_t rows, std::size_t order, Real* __restrict factors) {
    for (std::size_t j = 0; j < order; ++j) {
        Real* column = x + j * rows;
        for (std::size_t k = 0; k < j; ++k) factors[k] = triangle[j * along + k * across];
        subtract_products(x, rows, factors, j, column, rows);
        if constexpr (!UnitDiagonal) {
            const Real pivot = triangle[j * along + j * across];
            for (std::size_t i = 0; i < rows; ++i) column[i] /= pivot;
        }
    }
}

// out (columns x rows, column-major) := in (rows x columns, column-major) transposed.
template <class Real>
inline void transpose(const Real* __restrict in, Real* __restrict out, std::size_t rows, std::size_t columns) {
    for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t i = 0; i < rows; ++i) out[i * columns + j] = in[j * rows + i];
    }
}

// block := L^-1 block is, transposed, block^T := block^T (L^T)^-1 with L^T upper triangular: the rows of the block
// become columns, so that the vector loop runs over independent right-hand sides and not along the recurrence.
template <class Real>
inline void solve_from_left(const Real* __restrict diagonal, Real* __restrict block, std::size_t columns,
                            std::size_t order, Real* __restrict turned, Real* __restrict factors) {
    transpose(block, turned, order, columns);
    solve_from_right<false>(diagonal, 1, order, turned, columns, order, factors);
    transpose(turned, block, columns, order);
}

constexpr std::size_t on_stack = 64;  // blocks up to this order need no allocation

}  // namespace

template <class Real>
void factor(std::span<Real> diagonal, std::int32_t order) {
    const auto n = static_cast<std::size_t>(order);
    Real* __restrict a = diagonal.data();
    for (std::size_t k = 0; k < n; ++k) {
        const Real pivot = a[k * n + k];
        for (std::size_t j = k + 1; j < n; ++j) {
            const Real scaled = a[j * n + k] / pivot;
            a[j * n + k] = scaled;
            for (std::size_t i = k + 1; i < n; ++i) a[j * n + i] -= a[k * n + i] * scaled;
        }
    }
}

template <class Real>
void bdiv(std::span<const Real> diagonal, std::span<Real> block, std::int32_t order) {
    const auto n = static_cast<std::size_t>(order);
    if (n <= on_stack) {
        Real factors[on_stack];
        solve_from_right<true>(diagonal.data(), n, 1, block.data(), block.size() / n, n, factors);
    } else {
        std::vector<Real> factors(n);
        solve_from_right<true>(diagonal.data(), n, 1, block.data(), block.size() / n, n, factors.data());
    }
}

template <class Real>
void bmodd(std::span<const Real> diagonal, std::span<Real> block, std::int32_t order) {
    const auto n = static_cast<std::size_t>(order);
    if (n <= on_stack && block.size() <= on_stack * on_stack) {
        Real turned[on_stack * on_stack];
        Real factors[on_stack];
        solve_from_left(diagonal.data(), block.data(), block.size() / n, n, turned, factors);
    } else {
        std::vector<Real> workspace(block.size() + n);
        Real* factors = workspace.data() + block.size();
        solve_from_left(diagonal.data(), block.data(), block.size() / n, n, workspace.data(), factors);
    }
}

template <class Real>
void bmod(std::span<const Real> left, std::span<const Real> above, std::span<Real> block, std::int32_t order) {
    const auto n = static_cast<std::size_t>(order);
    multiply_subtract(left.data(), above.data(), block.data(), left.size() / n, above.size() / n, n);
}

template void factor(std::span<float>, std::int32_t);
template void factor(std::span<double>, std::int32_t);
template void bdiv(std::span<const float>, std::span<float>, std::int32_t);
template void bdiv(std::span<const double>, std::span<double>, std::int32_t);
template void bmodd(std::span<const float>, std::span<float>, std::int32_t);
template void bmodd(std::span<const double>, std::span<double>, std::int32_t);
template void bmod(std::span<const float>, std::span<const float>, std::span<float>, std::int32_t);
template void bmod(std::span<const double>, std::span<const double>, std::span<double>, std::int32_t);

}  // namespace penstock::kernels::lu
