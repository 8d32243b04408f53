// The six-step FFT of SPLASH-2, in float and double: N points as a square matrix, transposed, its rows transformed and
// multiplied by roots of unity, transposed, its rows transformed, transposed. Transposes move memory and compute
// nothing, rows do the reverse, so the two are also timed apart. Each transpose is a task for each tile, each pass over
// the rows a task for some rows; a barrier ends each of the five phases. The way of the paper on Tagged Procedure Calls
// stands beside it: one matrix, transposed in place, a task a row. All ways do the same operations on each number, so
// their results are equal bit for bit.
//
// SPLASH-2 takes 3.1416 for pi and is 1.4e-5 off; here pi is pi.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/buffer.hpp"
#include "apps/report.hpp"
#include "apps/team.hpp"
#include "apps/tiles.hpp"
#include "penstock/view.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps::fft6 {

/// T is float or double.
template <class T>
using Complex = std::complex<T>;

/// Memory for a square matrix of complex numbers; rows lie a line further apart than they are long, so that a column
/// does not fall upon few sets of a cache (SPLASH-2's padding).
template <class T>
class Square {
  public:
    explicit Square(std::size_t side) : side_{side}, memory_{side * pitch()} {}

    std::size_t pitch() const noexcept { return side_ + 64 / sizeof(Complex<T>); }
    Complex<T>* row(std::size_t i) const noexcept { return memory_.data() + i * pitch(); }
    view<Complex<T>, 2> whole() const noexcept {
        return {memory_.data(), side_, side_, static_cast<std::ptrdiff_t>(pitch())};
    }
    void copy_from(const Square& other) const noexcept {
        for (std::size_t i = 0; i < side_; ++i) std::copy_n(other.row(i), side_, row(i));
    }
    /// `rows` rows from `first` on.
    view<Complex<T>, 2> rows(std::size_t first, std::size_t rows) const noexcept {
        return {row(first), rows, side_, static_cast<std::ptrdiff_t>(pitch())};
    }

  private:
    std::size_t side_;
    Buffer<Complex<T>> memory_;
};

/// What is transformed, and the roots of unity that every way uses.
template <class T>
struct Problem {
    /// Throws UsageError unless `points` is a power of four, 4 to 2^28, and a task has at least one row.
    Problem(std::size_t points, std::size_t rows_of_a_task);

    std::size_t points, side;
    std::size_t block;               ///< rows of a task, and the side of a tile
    Square<T> input;                 ///< number j in row j / side, column j % side
    std::vector<Complex<T>> coarse;  ///< exp(-2 pi i k / side)
    std::vector<Complex<T>> fine;    ///< exp(-2 pi i k / points), k < side

    Tiling tiling() const noexcept { return {side, side, block, block}; }
    std::size_t strips() const noexcept { return parts(side, block); }
    /// Tasks of one transform.
    std::size_t tasks() const noexcept { return 3 * tiling().count() + 2 * strips(); }
    /// Tagged calls of one transform by `called`: of two tiles that change places, of one on the diagonal, of a row.
    std::size_t calls() const noexcept { return 3 * strips() * (strips() + 1) / 2 + 2 * side; }
};

/// As SPLASH-2 does: real and imaginary parts in turn by drand48().
template <class T>
void generate(Problem<T>& problem, std::uint32_t seed);

/// Where the transform goes, and what lies between: coefficient k in row k / side, column k % side of `result`.
template <class T>
struct Work {
    explicit Work(std::size_t side) : result{side}, between{side} {}
    Square<T> result, between;
};

/// What the three transposes and the two passes over the rows took.
struct Seconds {
    double transposes = 0, rows = 0;
    double all() const noexcept { return transposes + rows; }
};

template <class T>
Seconds serial(const Problem<T>& problem, Work<T>& work);
/// A team of threads, each with equally many tiles and strips of rows; a barrier of flags ends each phase.
template <class T>
Seconds hand(const Problem<T>& problem, Work<T>& work, Team& team);
/// Tagged calls: a tile, or a strip of rows, a task.
template <class T>
Seconds tagged(const Problem<T>& problem, Work<T>& work, Machine& machine);
/// Tagged calls as the paper made them, in place: `matrix` holds the input, then the result. A transpose is a call for
/// each two tiles that change places by way of memory next to whoever runs it, a pass over the rows a call for each
/// row; steps two and three are one call. The caller issues and waits. Which target gets a call, and whether the caller
/// helps, is the machine's Distribution.
template <class T>
Seconds called(const Problem<T>& problem, const Square<T>& matrix, Machine& machine);

/// The root of the mean square error of about `samples` coefficients, the first not among them, against their
/// definition in a wider type, over that of all coefficients.
template <class T>
double relative_error(const Problem<T>& problem, const Square<T>& result, std::size_t samples);

/// The application for the gallery. Settings: rows (points, a power of four; 65,536), block_rows (rows of a task and
/// side of a tile, 32), block_columns (bytes of a real number: 8, or 4 for float), seed. Input "x" (complex128, or
/// complex64, which then says which precision). Arrays kept: "x", "result". The ways "serial transposes", "serial
/// rows", "called transposes", "called rows", "tagged transposes" and "tagged rows" are whole transforms of which that
/// part was timed.
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::fft6
