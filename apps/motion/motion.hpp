// Motion estimation over ranks: each block of a frame is searched for in the frame before. Frames come to rank 0 one
// after the other, as from a decoder or a camera; every other rank needs a strip of each, and gives back what it found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "apps/ranks.hpp"
#include "apps/report.hpp"
#include "apps/shared_array.hpp"
#include "kernels/motion.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps::motion {

using kernels::motion::Match;
using kernels::motion::Pixel;

/// How frames get to those that search.
enum class Variant : std::uint8_t {
    shared,        ///< rank 0 writes each frame into a global ring of frames, a barrier stands between two
    shared_flags,  ///< the same, and flags between rank 0 and each other one tell of frames and of searches
    push_barrier,  ///< as push, with the barrier of `shared` in place of flags
    push,          ///< rank 0 stores to each rank the strip that it needs, one frame ahead; matches are stored back
    multicast,     ///< as push, but whole frames, which rank 0 reads once and stores to all
};

inline constexpr Variant variants[] = {Variant::shared, Variant::shared_flags, Variant::push_barrier, Variant::push,
                                       Variant::multicast};

/// The word for it in reports.
std::string_view name(Variant variant) noexcept;

/// The sizes of a search. Frames are whole blocks in both directions.
struct Shape {
    std::size_t frames = 5;  ///< at least 2
    std::size_t rows = 480;
    std::size_t columns = 720;
    std::size_t block = 16;
    std::size_t range = 7;  ///< rows and columns that a block may have moved, in each direction

    std::size_t pixels() const noexcept { return rows * columns; }
    std::size_t across() const noexcept { return columns / block; }
    std::size_t down() const noexcept { return rows / block; }
    std::size_t blocks() const noexcept { return across() * down(); }
};

/// Frames, and the matches of each but the first.
struct Problem {
    /// Throws UsageError for a shape that makes no whole blocks, has fewer than 2 frames, a range above 1024 or a block
    /// side above 4096.
    explicit Problem(const Shape& wanted);

    Shape shape;
    SharedArray<Pixel> frames;
    SharedArray<Match> matches;  ///< frame by frame, row by row
};

/// A textured surface that moves by a few pixels from frame to frame, with noise.
void generate(Problem& problem, std::uint32_t seed);

/// One thread. `matches` holds blocks() for each frame but the first.
void serial(const Problem& problem, std::span<Match> matches);

/// By ranks, into problem.matches. Returns seconds. Throws as spmd().
double parallel(const Problem& problem, Variant variant, const RankOptions& options);

/// The application for the gallery. Settings: rows and columns (480, 720; rounded up to whole blocks), block_rows (of a
/// block, 16), seed. Input "frames" (frames x rows x columns, uint8). Arrays kept: "frames", "result" (smallest sums of
/// absolute differences, frames - 1 x blocks down x blocks across, uint32). Ranks are threads, as many as the machine
/// has workers.
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::motion
