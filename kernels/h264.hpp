// What an H.264 encoder does with pixels: differences of blocks, positions between pixels, transforms, and the filter
// along the edges of blocks. All of it is integers, so each instruction set gives the same bits.
//
// Each group of functions is a table, which is asked for once: differences() and so on give the functions for the
// instruction set in use. Pixels are read and written through an address and a pitch, the distance of rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::kernels::h264 {

using Pixel = std::uint8_t;
using Pitch = std::ptrdiff_t;
using Coefficient = std::int16_t;

/// Sizes of blocks in which motion is described, columns x rows.
enum class Shape : std::uint8_t { b16x16, b16x8, b8x16, b8x8, b8x4, b4x8, b4x4 };
inline constexpr std::size_t shapes = 7;
constexpr int columns(Shape shape) noexcept {
    constexpr int of[] = {16, 16, 8, 8, 8, 4, 4};
    return of[static_cast<std::size_t>(shape)];
}
constexpr int rows(Shape shape) noexcept {
    constexpr int of[] = {16, 8, 16, 8, 4, 8, 4};
    return of[static_cast<std::size_t>(shape)];
}

/// How much blocks differ.
struct Differences {
    using Of = std::uint32_t (*)(const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch);
    std::array<Of, shapes> absolute{};     ///< sum of absolute differences
    std::array<Of, shapes> transformed{};  ///< half the sum over 4 x 4 blocks of their Hadamard transform's magnitudes
    Of of(Shape shape) const noexcept { return absolute[static_cast<std::size_t>(shape)]; }
    Of transformed_of(Shape shape) const noexcept { return transformed[static_cast<std::size_t>(shape)]; }
};
Differences differences() noexcept;

/// Pixels between pixels.
struct Interpolation {
    /// One row of the three planes of half positions: right of, below, and right below each pixel (8.4.2.2.1). Reads
    /// three pixels more on the right and two on the left and above, three rows below.
    void (*halves)(const Pixel* from, Pitch pitch, Pixel* right, Pixel* below, Pixel* middle, std::size_t columns);
    /// to := the mean of a and b, rounded up. `columns` is 4, 8 or 16.
    void (*mean)(const Pixel* a, Pitch a_pitch, const Pixel* b, Pitch b_pitch, Pixel* to, Pitch to_pitch, int columns,
                 int rows);
    /// Chrominance an eighth of a pixel apart (8.4.2.2.2): `right` and `down` are 0 to 7. `columns` is 2, 4 or 8.
    void (*eighths)(const Pixel* from, Pitch pitch, Pixel* to, Pitch to_pitch, int right, int down, int columns,
                    int rows);
};
Interpolation interpolation() noexcept;

/// Four blocks of 4 x 4 coefficients side by side: row c holds column c of each block, so that what the transform does
/// with rows is the same for all.
using Strip = std::array<Coefficient, 64>;

/// What a coefficient is multiplied with, by its place in a block (the same for rows and columns).
struct Quantiser {
    alignas(32) std::array<std::uint16_t, 16> factor{};  ///< level := (magnitude + rounding) * factor / 65536
    alignas(32) std::array<std::uint16_t, 16> rounding{};
    alignas(32) std::array<Coefficient, 16> scale{};  ///< coefficient := level * scale
};

/// Residuals of four blocks side by side: the first two and the last two may lie apart, as those of two colours do.
struct Residuals {
    /// Transforms source - prediction and quantises. Gives a bit for each level that is not 0: bit 16 b + 4 c + r is
    /// row r, column c of block b. `first` gets the coefficient at row 0, column 0 of each block, as transformed.
    std::uint64_t (*levels)(const Pixel* source, const Pixel* source_right, Pitch source_pitch, const Pixel* prediction,
                            const Pixel* prediction_right, Pitch prediction_pitch, const Quantiser& quantiser,
                            Strip& levels, Coefficient* first);
    /// prediction + the inverse transform of the levels. With `first`, these are the scaled coefficients at row 0,
    /// column 0.
    void (*add)(const Strip& levels, const Quantiser& quantiser, const Coefficient* first, const Pixel* prediction,
                const Pixel* prediction_right, Pitch prediction_pitch, Pixel* to, Pixel* to_right, Pitch to_pitch);
    /// The same for a single block, whose levels are rows of 16 too, in the first four columns.
    std::uint64_t (*levels_of_one)(const Pixel* source, Pitch source_pitch, const Pixel* prediction,
                                   Pitch prediction_pitch, const Quantiser& quantiser, Coefficient* levels);
    void (*add_one)(const Coefficient* levels, const Quantiser& quantiser, const Pixel* prediction,
                    Pitch prediction_pitch, Pixel* to, Pitch to_pitch);
};
Residuals residuals() noexcept;

/// How strongly an edge is filtered (8.7.2.2).
struct EdgeFilter {
    int alpha = 0, beta = 0;
    std::array<std::int8_t, 4> clip{};  ///< of each quarter of the edge; -1: not filtered
};

/// Filters along 16 pixels of an edge of luminance, or 8 of chrominance. `edge` is the first pixel behind the edge.
/// `strong` filters are those of edges of macroblocks predicted from the same picture.
struct LoopFilters {
    using Of = void (*)(Pixel* edge, Pitch pitch, const EdgeFilter& filter);
    Of upright{}, upright_strong{};  ///< the edge goes down: pixels left and right of it
    Of level{}, level_strong{};      ///< the edge goes right
    Of upright_chroma{}, upright_chroma_strong{}, level_chroma{}, level_chroma_strong{};
};
LoopFilters loop_filters() noexcept;

}  // namespace penstock::kernels::h264
