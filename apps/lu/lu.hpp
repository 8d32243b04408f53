// LU factorisation without pivoting in contiguous blocks, after SPLASH-2: A = L U with U unit-upper (the pivots are in
// L). With n = 512 and blocks of 16 x 16 these are 11,440 tasks of about half a microsecond: the fine-grain test.
//
// Step k factors the diagonal block; then the blocks below it (bdiv) and right of it (bmodd) are solved; then the
// interior is updated (bmod). A barrier ends each of the three phases, except where the tasks wait for one another by
// their tags. All ways do the same operations on each element in the same order, so their factors are equal bit for
// bit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/report.hpp"
#include "apps/team.hpp"

namespace penstock {
class Dependences;
class Machine;
}  // namespace penstock

namespace penstock::apps::lu {

/// A square matrix as a grid of contiguous, column-major blocks; the last row and column of blocks may be smaller.
/// `Real` is float or double, also below.
template <class Real>
class MatrixOf {
  public:
    /// Zeros. Throws UsageError unless 1 <= block <= 32,768 and 1 <= order <= 2^28. Any block is legal, also one above
    /// the order.
    MatrixOf(std::size_t order, std::size_t block);

    std::size_t order() const noexcept { return order_; }
    std::size_t block() const noexcept { return block_; }

    /// How many blocks a side has.
    std::size_t blocks() const noexcept { return blocks_; }

    /// Rows of block row i, which are also the columns of block column i.
    std::size_t extent(std::size_t i) const noexcept { return i + 1 < blocks_ ? block_ : order_ - i * block_; }

    /// Block (i, j): extent(i) x extent(j) elements, column-major.
    std::span<Real> tile(std::size_t i, std::size_t j) noexcept {
        return {data() + offset(i, j), extent(i) * extent(j)};
    }
    std::span<const Real> tile(std::size_t i, std::size_t j) const noexcept {
        return {data() + offset(i, j), extent(i) * extent(j)};
    }

    /// Blocks (first, j) to before (last, j), which lie in one piece.
    std::span<Real> run(std::size_t first, std::size_t last, std::size_t j) noexcept {
        const std::size_t begin = std::min(first * block_, order_), end = std::min(last * block_, order_);
        return {data() + order_ * block_ * j + begin * extent(j), (end - begin) * extent(j)};
    }

    Real& operator()(std::size_t row, std::size_t column) noexcept { return data()[element(row, column)]; }
    Real operator()(std::size_t row, std::size_t column) const noexcept { return data()[element(row, column)]; }

    /// All elements in the order of storage.
    std::span<Real> elements() noexcept { return {data(), order_ * order_}; }
    std::span<const Real> elements() const noexcept { return {data(), order_ * order_}; }

    /// Takes over the elements of a matrix of the same shape.
    void copy_from(const MatrixOf& other) noexcept;

  private:
    Real* data() const noexcept { return storage_.data(); }
    std::size_t offset(std::size_t i, std::size_t j) const noexcept {
        return order_ * block_ * j + block_ * i * extent(j);
    }
    std::size_t element(std::size_t row, std::size_t column) const noexcept {
        const std::size_t i = row / block_;
        return offset(i, column / block_) + column % block_ * extent(i) + row % block_;
    }

    std::size_t order_;
    std::size_t block_;
    std::size_t blocks_;
    Buffer<Real> storage_;
};

using Matrix = MatrixOf<double>;

/// Fills the matrix as SPLASH-2 does: column by column lrand48() / 32767, the diagonal ten times that.
template <class Real>
void generate(MatrixOf<Real>& matrix, std::uint32_t seed);

/// Factors in place, one thread, block by block.
template <class Real>
void serial(MatrixOf<Real>& matrix);

/// Factors in place by a team of threads; each phase is dealt out in equal, contiguous parts. Returns seconds.
template <class Real>
double hand(MatrixOf<Real>& matrix, Team& team);

/// Factors in place with every bdiv, bmodd and bmod as a tagged call, as the paper ran it: the caller factors the
/// diagonal blocks, issues, and waits. Which target gets a call, and whether the caller helps, is the machine's
/// Distribution.
template <class Real>
void called(MatrixOf<Real>& matrix, Machine& machine);

/// Factors in place in equal shares for the targets and the caller: a tagged call for each run of blocks of one column
/// that a target's share holds (at most a column of blocks: 31 blocks of half a microsecond), and the function itself
/// for the caller's.
template <class Real>
void tagged(MatrixOf<Real>& matrix, Machine& machine);

/// Factors in place without barriers: each block's task waits for those that its tags name. `calls` may be used again
/// and again, and then knows the blocks already.
template <class Real>
void dependent(MatrixOf<Real>& matrix, Dependences& calls);

/// The same with one task for each run of up to eight blocks of one column, which is what the tags name.
template <class Real>
void dependent_runs(MatrixOf<Real>& matrix, Dependences& calls);

/// How many procedures one factorisation runs.
template <class Real>
std::size_t procedures(const MatrixOf<Real>& matrix) noexcept;

/// How many of them are tagged calls of `called`: all but those on the diagonal.
template <class Real>
std::size_t calls(const MatrixOf<Real>& matrix) noexcept {
    return procedures(matrix) - matrix.blocks();
}

/// |A - L U| / |A| in the Frobenius norm. Up to order 1024 with the product formed; above that from one pseudo-random
/// vector v, as |A v - L (U v)| / (|A| |v|).
template <class Real>
double residual(const MatrixOf<Real>& original, const MatrixOf<Real>& factors);

/// The largest |A v - L U v| over |L| |U| |v|, element by element, for one pseudo-random vector v. However far elements
/// grow, rounding of the factors makes no more than n u / (1 - n u) of it, u being the rounding of one operation
/// (Higham, Accuracy and Stability of Numerical Algorithms, theorem 9.3), and comparing them in double some 2 n + 2
/// roundings more.
template <class Real>
double backward_error(const MatrixOf<Real>& original, const MatrixOf<Real>& factors);

/// Solves L U x = b.
template <class Real>
std::vector<double> solve(const MatrixOf<Real>& factors, std::vector<double> b);

/// The largest |x - 1| when the right-hand side is the sum of each row, so that x = 1.
template <class Real>
double solution_error(const MatrixOf<Real>& original, const MatrixOf<Real>& factors);

/// The application for the gallery. Settings: rows (order, 512), block_rows (16), block_columns (bytes of a real
/// number: 4 or 8, the default), seed. Input "A" (n x n float32 or float64) in place of the generated one. Arrays kept:
/// "A" and "LU" (n x n, row-major).
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::lu
