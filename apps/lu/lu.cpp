#include "apps/lu/lu.hpp"

#include <algorithm>
#include <string>

#include "apps/random.hpp"
#include "kernels/lu.hpp"
#include "penstock/error.hpp"

namespace penstock::apps::lu {
namespace {

std::size_t checked_block(std::size_t order, std::size_t block) {
    constexpr std::size_t largest = 32'768;
    if (order < 1 || order > largest_side) {
        throw UsageError("lu: the order of the matrix must be from 1 to 2^28, not " + std::to_string(order));
    }
    if (block < 1 || block > largest) {
        throw UsageError("lu: the order of a block must be from 1 to 32768, not " + std::to_string(block));
    }
    return block;
}

template <class Real>
std::int32_t order_of(const MatrixOf<Real>& matrix, std::size_t k) {
    return static_cast<std::int32_t>(matrix.extent(k));
}

// Phase two of step k as one list: the column below the diagonal block, then the row right of it.
template <class Real>
void solve_edge(MatrixOf<Real>& matrix, std::size_t k, std::size_t task) {
    const std::size_t rest = matrix.blocks() - k - 1;
    const std::span<const Real> diagonal = matrix.tile(k, k);
    if (task < rest) {
        kernels::lu::bdiv<Real>(diagonal, matrix.tile(k + 1 + task, k), order_of(matrix, k));
    } else {
        kernels::lu::bmodd<Real>(diagonal, matrix.tile(k, k + 1 + task - rest), order_of(matrix, k));
    }
}

template <class Real>
void update(MatrixOf<Real>& matrix, std::size_t i, std::size_t j, std::size_t k) {
    kernels::lu::bmod<Real>(matrix.tile(i, k), matrix.tile(k, j), matrix.tile(i, j), order_of(matrix, k));
}

}  // namespace

template <class Real>
MatrixOf<Real>::MatrixOf(std::size_t order, std::size_t block)
    : order_{order}, block_{checked_block(order, block)}, blocks_{(order + block - 1) / block},
      storage_{order * order} {}

template <class Real>
void MatrixOf<Real>::copy_from(const MatrixOf& other) noexcept {
    std::copy(other.elements().begin(), other.elements().end(), elements().begin());
}

template <class Real>
void generate(MatrixOf<Real>& matrix, std::uint32_t seed) {
    constexpr double scale = 32767.0;
    constexpr double diagonal_weight = 10.0;
    Random random{seed};
    for (std::size_t column = 0; column < matrix.order(); ++column) {
        for (std::size_t row = 0; row < matrix.order(); ++row) {
            const double value = random.integer() / scale;
            matrix(row, column) = static_cast<Real>(row == column ? value * diagonal_weight : value);
        }
    }
}

template <class Real>
void serial(MatrixOf<Real>& matrix) {
    const std::size_t blocks = matrix.blocks();
    for (std::size_t k = 0; k < blocks; ++k) {
        kernels::lu::factor<Real>(matrix.tile(k, k), order_of(matrix, k));
        for (std::size_t task = 0; task < 2 * (blocks - k - 1); ++task) solve_edge(matrix, k, task);
        for (std::size_t j = k + 1; j < blocks; ++j) {
            for (std::size_t i = k + 1; i < blocks; ++i) update(matrix, i, j, k);
        }
    }
}

template <class Real>
double hand(MatrixOf<Real>& matrix, Team& team) {
    const std::size_t blocks = matrix.blocks();
    return team.run([&](int rank) {
        for (std::size_t k = 0; k < blocks; ++k) {
            const std::size_t rest = blocks - k - 1;
            if (rank == 0) kernels::lu::factor<Real>(matrix.tile(k, k), order_of(matrix, k));
            team.barrier(rank);
            if (rest == 0) return;
            const Range column = team.share(rank, rest);
            for (std::size_t task = column.begin; task < column.end; ++task) solve_edge(matrix, k, task);
            for (std::size_t task = column.begin; task < column.end; ++task) solve_edge(matrix, k, rest + task);
            team.barrier(rank);
            const Range interior = team.share(rank, rest * rest);
            for (std::size_t task = interior.begin; task < interior.end; ++task) {
                update(matrix, k + 1 + task % rest, k + 1 + task / rest, k);
            }
            team.barrier(rank);
        }
    });
}

template <class Real>
std::size_t procedures(const MatrixOf<Real>& matrix) noexcept {
    std::size_t count = 0;
    for (std::size_t rest = 0; rest < matrix.blocks(); ++rest) count += 1 + 2 * rest + rest * rest;
    return count;
}

template class MatrixOf<float>;
template class MatrixOf<double>;
template void generate(MatrixOf<float>&, std::uint32_t);
template void generate(MatrixOf<double>&, std::uint32_t);
template void serial(MatrixOf<float>&);
template void serial(MatrixOf<double>&);
template double hand(MatrixOf<float>&, Team&);
template double hand(MatrixOf<double>&, Team&);
template std::size_t procedures(const MatrixOf<float>&) noexcept;
template std::size_t procedures(const MatrixOf<double>&) noexcept;

}  // namespace penstock::apps::lu
