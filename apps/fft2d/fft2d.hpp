// 2-D FFT over ranks, an application of the paper on remote stores (RSP, section 4.2): each rank transforms some rows,
// all exchange their results so that each has some columns, and transforms those. What differs is how the exchange is
// done; the transform of a row is the same in all variants. As in the paper the result stays transposed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "apps/compare.hpp"
#include "apps/fft2d/plan.hpp"
#include "apps/ranks.hpp"
#include "apps/report.hpp"
#include "apps/shared_array.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps::fft2d {

/// How a rank's rows get to those that need them.
enum class Variant : std::uint8_t {
    shared,       ///< each result is stored, as soon as its row is done, into its transposed place in one global array
    bulk,         ///< when all rows are done, one block goes to each other rank, which transposes what it gets
    pencils,      ///< the same in pieces: when a row is done, one part of it goes to each other rank
    dma_bulk,     ///< as bulk, and an engine beside the rank copies: the paper's "UPC exchange"
    dma_pencils,  ///< as pencils, and the engine copies while the next rows are transformed: "UPC overlap pencils"
    elements,     ///< remote stores as in the paper: each number, as soon as it is done, to its final place
    /// Remote stores: 8 rows at a time, transposed in 8 x 8 blocks, to their final place at the rank that needs them
    push,
    pull,    ///< rows stay where they were made; who needs them fetches and transposes them in 8 x 8 blocks
    choice,  ///< push or pull, whichever has lately been faster for this size and these ranks
};

inline constexpr Variant variants[] = {Variant::shared,   Variant::bulk,        Variant::pencils,
                                       Variant::dma_bulk, Variant::dma_pencils, Variant::elements,
                                       Variant::push,     Variant::pull,        Variant::choice};

/// The word for it in reports.
std::string_view name(Variant variant) noexcept;

/// An image of n x n, and its transform: transposed, so `result` at (c, r) is the coefficient of row frequency r and
/// column frequency c.
struct Problem {
    explicit Problem(std::size_t order, Transform rows = Transform::whole, Planning planning = Planning::measured)
        : n{order}, pitch{(parts(order, line) | 1) * line}, image{n * pitch}, result{n * pitch},
          plan{n, rows, planning} {}

    static constexpr std::size_t line = 64 / sizeof(Complex);

    std::size_t n;
    /// From one row to the next: whole lines, and an odd number of them, for rows a power of two apart share few sets
    /// of the first cache, and a transpose writes one line of each.
    std::size_t pitch;
    SharedArray<Complex> image;
    SharedArray<Complex> result;
    Plan plan;
};

/// Random numbers: real and imaginary parts in [0, 1), row by row.
void generate(Problem& problem, std::uint32_t seed);

/// One thread: rows, a transpose in 8 x 8 blocks, rows. Writes `result` (n rows at the problem's pitch).
void serial(const Problem& problem, std::span<Complex> result);
/// The same with memory for what lies between, as large as `result`: nothing is allocated, so this is what is timed.
void serial(const Problem& problem, std::span<Complex> result, std::span<Complex> scratch);

/// By ranks, into problem.result; the bits are those of serial(). Returns seconds. `choice` tries both a few times,
/// where this process has not yet done so for this size, number of ranks and substrate, and the other one now and then.
/// Throws as spmd().
double parallel(const Problem& problem, Variant variant, const RankOptions& options);

/// What `choice` stands for just now: push or pull. Measured at the first call for a size, a number of ranks and a
/// substrate.
Variant chosen(const Problem& problem, const RankOptions& options);

/// The largest error of about `samples` coefficients against their definition in double precision, relative to the root
/// of the mean square of all coefficients.
double relative_error(const Problem& problem, std::span<const Complex> result, std::size_t samples);

/// One rank's share, for ranks that share no memory (nodes of a cluster): each has the whole problem, made from the
/// same numbers, and leaves its part of the result there. Only by variants without a global array. Throws UsageError
/// for others; RankLost. The bits are those of serial() where all ranks have the same plan (Planning::estimated).
void of_rank(Rank me, const Problem& problem, Variant variant, int passes = 2);

/// The application for the gallery. Settings: rows (n, 256; columns are the same), seed. Input "image" (n x n,
/// complex64). Arrays kept: "image", "result" (n x n, not transposed). Ranks are threads, as many as the machine has
/// workers.
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::fft2d
