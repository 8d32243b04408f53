// LU factorisation without pivoting in contiguous blocks, after SPLASH-2: A = L U with U unit-upper (the pivots are in
// L). With n = 512 and blocks of 16 x 16 these are 11,440 tasks of about half a microsecond: the fine-grain test.
//
// Step k factors the diagonal block; then the blocks below it (bdiv) and right of it (bmodd) are solved; then the
// interior is updated (bmod). A barrier ends each of the three phases, except where the tasks wait for one another by their
// tags. All ways do the same operations on each element in the same order, so their factors are equal bit for bit.
#pragma once

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
}

namespace penstock::apps::lu {

/// A square matrix of doubles as a grid of contiguous, column-major blocks; the last row and column of blocks may be
/// smaller.
class Matrix {
  public:
    /// Zeros. Throws UsageError unless 1 <= block <= 32,768 and 1 <= order <= 2^28. Any block is legal, also one above
    /// the order.
    Matrix(std::size_t order, std::size_t block);

    std::size_t order() const noexcept { return order_; }
    std::size_t block() const noexcept { return block_; }

    /// How many blocks a side has.
    std::size_t blocks() const noexcept { return blocks_; }

    /// Rows of block row i, which are also the columns of block column i.
    std::size_t extent(std::size_t i) const noexcept { return i + 1 < blocks_ ? block_ : order_ - i * block_; }

    /// Block (i, j): extent(i) x extent(j) elements, column-major.
    std::span<double> tile(std::size_t i, std::size_t j) noexcept {
        return {data() + offset(i, j), extent(i) * extent(j)};
    }
    std::span<const double> tile(std::size_t i, std::size_t j) const noexcept {
        return {data() + offset(i, j), extent(i) * extent(j)};
    }

    double& operator()(std::size_t row, std::size_t column) noexcept { return data()[element(row, column)]; }
    double operator()(std::size_t row, std::size_t column) const noexcept { return data()[element(row, column)]; }

    /// All elements in the order of storage.
    std::span<double> elements() noexcept { return {data(), order_ * order_}; }
    std::span<const double> elements() const noexcept { return {data(), order_ * order_}; }

    /// Takes over the elements of a matrix of the same shape.
    void copy_from(const Matrix& other) noexcept;

  private:
    double* data() const noexcept { return storage_.data(); }
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
    Buffer<double> storage_;
};

/// Fills the matrix as SPLASH-2 does: column by column lrand48() / 32767, the diagonal ten times that.
void generate(Matrix& matrix, std::uint32_t seed);

/// Factors in place, one thread, block by block.
void serial(Matrix& matrix);

/// Factors in place by a team of threads; each phase is dealt out in equal, contiguous parts. Returns seconds.
double hand(Matrix& matrix, Team& team);

/// Factors in place with a tagged call for each block; the diagonal blocks are factored by the caller.
void tagged(Matrix& matrix, Machine& machine);

/// Factors in place without barriers: each block's task waits for those that its tags name. `calls` may be used again and again, and
/// then knows the blocks already.
void dependent(Matrix& matrix, Dependences& calls);

/// How many procedures one factorisation runs (all but the diagonal blocks are tasks of the tagged way).
std::size_t procedures(const Matrix& matrix) noexcept;

/// |A - L U| / |A| in the Frobenius norm. Up to order 1024 with the product formed; above that from one pseudo-random
/// vector v, as |A v - L (U v)| / (|A| |v|).
double residual(const Matrix& original, const Matrix& factors);

/// Solves L U x = b.
std::vector<double> solve(const Matrix& factors, std::vector<double> b);

/// The largest |x - 1| when the right-hand side is the sum of each row, so that x = 1.
double solution_error(const Matrix& original, const Matrix& factors);

/// The application for the gallery. Settings: rows (order, 512), block_rows (16), seed. Input "A" (n x n float64) in
/// place of the generated one. Arrays kept: "A" and "LU" (n x n, row-major).
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::lu
