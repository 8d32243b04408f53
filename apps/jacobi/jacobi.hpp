// Jacobi relaxation on a line (Poisson's equation, fixed ends): each rank has a part of the line and needs one element
// of each neighbour before the next sweep. The exchange is tiny and frequent, so its latency is all that counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "apps/ranks.hpp"
#include "apps/report.hpp"
#include "apps/shared_array.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps::jacobi {

/// How a rank gets its neighbours' edges.
enum class Variant : std::uint8_t {
    shared,        ///< the line lies in one global array, a barrier stands between two sweeps
    shared_flags,  ///< the same, and flags between neighbours in place of the barrier
    push_barrier,  ///< as push, with the barrier of `shared` in place of flags
    /// The line lies in each rank's own memory; edges are stored into the neighbours' regions, ahead of the interior,
    /// with a flag behind each
    push,
    push_word,  ///< as push, but an edge and the number of its sweep travel in one word
};

inline constexpr Variant variants[] = {Variant::shared, Variant::shared_flags, Variant::push_barrier, Variant::push,
                                       Variant::push_word};

/// The word for it in reports.
std::string_view name(Variant variant) noexcept;

/// A line of n points between two fixed ends.
struct Problem {
    explicit Problem(std::size_t points) : n{points}, start{n + 2}, source{n}, result{n + 2} {}

    std::size_t n;
    SharedArray<float> start;   ///< n + 2 elements, the fixed ends too
    SharedArray<float> source;  ///< the right-hand side times the square of the distance of two points
    SharedArray<float> result;  ///< as `start`
};

/// Random numbers in [-1, 1) for the start, a thousandth of that for the source.
void generate(Problem& problem, std::uint32_t seed);

/// One thread: `sweeps` sweeps from `start` into `result` (n + 2 elements each).
void serial(std::span<const float> start, std::span<const float> source, std::span<float> result, std::size_t sweeps);
/// The same with memory for what lies between, as large as `result`: nothing is allocated, so this is what is timed.
void serial(std::span<const float> start, std::span<const float> source, std::span<float> result,
            std::span<float> scratch, std::size_t sweeps);

/// `sweeps` sweeps by ranks, into problem.result; the bits are those of serial(). Returns seconds. Throws UsageError
/// for more ranks than points and, by `push_word`, for 2^32 sweeps and more in all passes; and as spmd().
double parallel(const Problem& problem, std::size_t sweeps, Variant variant, const RankOptions& options);

/// One rank's share, for ranks that share no memory (nodes of a cluster): each has the whole problem, made from the
/// same numbers, and leaves its part of the result there. Only by variants without a global array. Throws UsageError
/// for others; RankLost.
void of_rank(Rank me, const Problem& problem, std::size_t sweeps, Variant variant, int passes = 2);

/// The application for the gallery. Settings: columns (points, 57,344), rows (sweeps, 100), seed. Inputs "start" (n +
/// 2, float32) and "source" (n, float32). Arrays kept: "start", "source", "result". Ranks are threads, as many as the
/// machine has workers.
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::jacobi
