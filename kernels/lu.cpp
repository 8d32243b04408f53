#include "kernels/lu.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace penstock::kernels::lu {
namespace {

// 64 bytes of one column are what stays in the registers of a 16-register machine of 16 bytes each: compared
// with whole columns of 16 this is 4 times faster at the flags of this project (0.53 us against 2.1 us for 16 x 16 doubles).
template <class Real>
constexpr std::size_t strip = 64 / sizeof(Real);

// column[0..Rows) -= sum over k of panel(:, k) * factors[k], for k from 0 to count, in this order.
template <std::size_t Rows, class Real>
inline void subtract_products(const Real* __restrict panel, std::size_t pitch, const Real* __restrict factors,
                              std::size_t count, Real* __restrict column) {
    Real sum[Rows];
    for (std::size_t i = 0; i < Rows; ++i) sum[i] = column[i];
    for (std::size_t k = 0; k < count; ++k) {
        const Real factor = factors[k];
        for (std::size_t i = 0; i < Rows; ++i) sum[i] -= panel[k * pitch + i] * factor;
    }
    for (std::size_t i = 0; i < Rows; ++i) column[i] = sum[i];
}

// The same for any number of rows.
template <class Real>
inline void subtract_products(const Real* __restrict panel, std::size_t pitch, const Real* __restrict factors,
                              std::size_t count, Real* __restrict column, std::size_t rows) {
    std::size_t i = 0;
    for (; i + strip<Real> <= rows; i += strip<Real>) subtract_products<strip<Real>>(panel + i, pitch, factors, count, column + i);
    for (; i + 2 <= rows; i += 2) subtract_products<2>(panel + i, pitch, factors, count, column + i);
    for (; i < rows; ++i) subtract_products<1>(panel + i, pitch, factors, count, column + i);
}

// block (rows x columns) -= left (rows x order) above (order x columns). Inlined with constants it unrolls.
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
inline void solve_from_right(const Real* __restrict triangle, std::size_t along, std::size_t across,
                             Real* __restrict x, std::size_t rows, std::size_t order, Real* __restrict factors) {
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

constexpr std::size_t usual = 16;     // the order that SPLASH-2 uses, compiled with constant bounds
constexpr std::size_t on_stack = 64;  // blocks up to this order need no allocation
constexpr std::size_t usual_size = usual * usual;

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
    if (n == usual && block.size() == usual_size) {
        Real factors[usual];
        solve_from_right<true>(diagonal.data(), usual, 1, block.data(), usual, usual, factors);
    } else if (n <= on_stack) {
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
    if (n == usual && block.size() == usual_size) {
        Real turned[usual_size];
        Real factors[usual];
        solve_from_left(diagonal.data(), block.data(), usual, usual, turned, factors);
    } else if (n <= on_stack && block.size() <= on_stack * on_stack) {
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
    if (n == usual && left.size() == usual_size && above.size() == usual_size) {
        multiply_subtract(left.data(), above.data(), block.data(), usual, usual, usual);
    } else {
        multiply_subtract(left.data(), above.data(), block.data(), left.size() / n, above.size() / n, n);
    }
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
