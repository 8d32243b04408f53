#include "kernels/lu.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace penstock::kernels::lu {
namespace {

// Eight rows of one column are what stays in the registers of a 16-register machine with two doubles in each: compared
// with whole columns of 16 this is 4 times faster at the flags of this project (0.53 us against 2.1 us for 16 x 16).
constexpr std::size_t strip = 8;

// column[0..Rows) -= sum over k of panel(:, k) * factors[k], for k from 0 to count, in this order.
template <std::size_t Rows>
inline void subtract_products(const double* __restrict panel, std::size_t pitch, const double* __restrict factors,
                              std::size_t count, double* __restrict column) {
    double sum[Rows];
    for (std::size_t i = 0; i < Rows; ++i) sum[i] = column[i];
    for (std::size_t k = 0; k < count; ++k) {
        const double factor = factors[k];
        for (std::size_t i = 0; i < Rows; ++i) sum[i] -= panel[k * pitch + i] * factor;
    }
    for (std::size_t i = 0; i < Rows; ++i) column[i] = sum[i];
}

// The same for any number of rows.
inline void subtract_products(const double* __restrict panel, std::size_t pitch, const double* __restrict factors,
                              std::size_t count, double* __restrict column, std::size_t rows) {
    std::size_t i = 0;
    for (; i + strip <= rows; i += strip) subtract_products<strip>(panel + i, pitch, factors, count, column + i);
    for (; i + 2 <= rows; i += 2) subtract_products<2>(panel + i, pitch, factors, count, column + i);
    for (; i < rows; ++i) subtract_products<1>(panel + i, pitch, factors, count, column + i);
}

// block (rows x columns) -= left (rows x order) above (order x columns). Inlined with constants it unrolls.
inline void multiply_subtract(const double* __restrict left, const double* __restrict above, double* __restrict block,
                              std::size_t rows, std::size_t columns, std::size_t order) {
    for (std::size_t j = 0; j < columns; ++j) {
        subtract_products(left, rows, above + j * order, order, block + j * rows, rows);
    }
}

// X := X T^-1, where X is rows x order and column-major, and T is upper triangular: T(k, j) is at triangle[j * along +
// k * across]. With a unit diagonal nothing is divided. Left-looking, so that a column of X is stored once.
template <bool UnitDiagonal>
inline void solve_from_right(const double* __restrict triangle, std::size_t along, std::size_t across,
                             double* __restrict x, std::size_t rows, std::size_t order, double* __restrict factors) {
    for (std::size_t j = 0; j < order; ++j) {
        double* column = x + j * rows;
        for (std::size_t k = 0; k < j; ++k) factors[k] = triangle[j * along + k * across];
        subtract_products(x, rows, factors, j, column, rows);
        if constexpr (!UnitDiagonal) {
            const double pivot = triangle[j * along + j * across];
            for (std::size_t i = 0; i < rows; ++i) column[i] /= pivot;
        }
    }
}

// out (columns x rows, column-major) := in (rows x columns, column-major) transposed.
inline void transpose(const double* __restrict in, double* __restrict out, std::size_t rows, std::size_t columns) {
    for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t i = 0; i < rows; ++i) out[i * columns + j] = in[j * rows + i];
    }
}

// block := L^-1 block is, transposed, block^T := block^T (L^T)^-1 with L^T upper triangular: the rows of the block
// become columns, so that the vector loop runs over independent right-hand sides and not along the recurrence.
inline void solve_from_left(const double* __restrict diagonal, double* __restrict block, std::size_t columns,
                            std::size_t order, double* __restrict turned, double* __restrict factors) {
    transpose(block, turned, order, columns);
    solve_from_right<false>(diagonal, 1, order, turned, columns, order, factors);
    transpose(turned, block, columns, order);
}

constexpr std::size_t usual = 16;     // the order that SPLASH-2 uses, compiled with constant bounds
constexpr std::size_t on_stack = 64;  // blocks up to this order need no allocation
constexpr std::size_t usual_size = usual * usual;

}  // namespace

void factor(std::span<double> diagonal, std::int32_t order) {
    const auto n = static_cast<std::size_t>(order);
    double* __restrict a = diagonal.data();
    for (std::size_t k = 0; k < n; ++k) {
        const double pivot = a[k * n + k];
        for (std::size_t j = k + 1; j < n; ++j) {
            const double scaled = a[j * n + k] / pivot;
            a[j * n + k] = scaled;
            for (std::size_t i = k + 1; i < n; ++i) a[j * n + i] -= a[k * n + i] * scaled;
        }
    }
}

void bdiv(std::span<const double> diagonal, std::span<double> block, std::int32_t order) {
    const auto n = static_cast<std::size_t>(order);
    if (n == usual && block.size() == usual_size) {
        double factors[usual];
        solve_from_right<true>(diagonal.data(), usual, 1, block.data(), usual, usual, factors);
    } else if (n <= on_stack) {
        double factors[on_stack];
        solve_from_right<true>(diagonal.data(), n, 1, block.data(), block.size() / n, n, factors);
    } else {
        std::vector<double> factors(n);
        solve_from_right<true>(diagonal.data(), n, 1, block.data(), block.size() / n, n, factors.data());
    }
}

void bmodd(std::span<const double> diagonal, std::span<double> block, std::int32_t order) {
    const auto n = static_cast<std::size_t>(order);
    if (n == usual && block.size() == usual_size) {
        double turned[usual_size];
        double factors[usual];
        solve_from_left(diagonal.data(), block.data(), usual, usual, turned, factors);
    } else if (n <= on_stack && block.size() <= on_stack * on_stack) {
        double turned[on_stack * on_stack];
        double factors[on_stack];
        solve_from_left(diagonal.data(), block.data(), block.size() / n, n, turned, factors);
    } else {
        std::vector<double> workspace(block.size() + n);
        double* factors = workspace.data() + block.size();
        solve_from_left(diagonal.data(), block.data(), block.size() / n, n, workspace.data(), factors);
    }
}

void bmod(std::span<const double> left, std::span<const double> above, std::span<double> block, std::int32_t order) {
    const auto n = static_cast<std::size_t>(order);
    if (n == usual && left.size() == usual_size && above.size() == usual_size) {
        multiply_subtract(left.data(), above.data(), block.data(), usual, usual, usual);
    } else {
        multiply_subtract(left.data(), above.data(), block.data(), left.size() / n, above.size() / n, n);
    }
}

}  // namespace penstock::kernels::lu
