// One picture while it is encoded: the four steps of each macroblock, which the forms of the encoder order as they
// like.
//
//   decide       how it is predicted, and by which motion: looks at the source, at reference pictures, and at what was
//                decided about the macroblocks left and above
//   reconstruct  levels, and the pixels as a decoder has them: looks at pixels left and above
//   write        bits: looks at what is known of the macroblocks left and above; row by row, each into bits of its own
//   filter       a row of macroblocks, when it and the row above have been reconstructed, and that one filtered
//
// Each step of a macroblock comes after the steps before it, and after the same step of its neighbours left, above and
// above right. `prepare` copies a row of the source before the first.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/h264/around.hpp"
#include "apps/h264/bits.hpp"
#include "apps/h264/headers.hpp"
#include "apps/h264/macroblock.hpp"
#include "apps/h264/picture.hpp"
#include "apps/h264/settings.hpp"

namespace penstock::apps::h264 {

/// The functions for this processor.
struct Kernels {
    kernels::h264::Differences differences = kernels::h264::differences();
    kernels::h264::Interpolation interpolation = kernels::h264::interpolation();
    kernels::h264::Residuals residuals = kernels::h264::residuals();
    kernels::h264::LoopFilters loop_filters = kernels::h264::loop_filters();
};

/// What follows from a quantiser, for pictures of one kind of prediction each.
struct Quantisers {
    explicit Quantisers(int luma);
    int luma = 0, chroma = 0;
    std::uint32_t weight = 1;  ///< of a bit, in differences of pixels
    struct Pair {
        kernels::h264::Quantiser all, without_first;
    };
    std::array<Pair, 2> luma_by, chroma_by;  ///< [intra or not]
    /// level := (magnitude + rounding) * factor / 2^17; coefficients that were transformed twice.
    /// Of coefficients that were transformed twice.
    struct First {
        std::uint32_t factor = 0, rounding = 0;
        int shift = 0;
        int scale = 0;
        Coefficient level(int coefficient) const noexcept {
            const auto magnitude = static_cast<std::uint32_t>(coefficient < 0 ? -coefficient : coefficient);
            const auto level = static_cast<int>((magnitude * factor + rounding) >> shift);
            return static_cast<Coefficient>(coefficient < 0 ? -level : level);
        }
    };
    std::array<First, 2> luma_first, chroma_first;
};
/// The quantiser of chrominance (table 8-15).
int chroma_quantiser(int luma) noexcept;

/// The bits of a row of macroblocks, until it is known how many were skipped at the end of the row before.
struct RowBits {
    /// Behind the first mb_skip_run. All but the first begin at a whole byte of the slice, with the samples of a
    /// macroblock.
    std::vector<Bits> parts{1};
    std::size_t used = 1;       ///< of the parts
    std::uint32_t skipped = 0;  ///< macroblocks since the last one that is written
    std::uint32_t leading = 0;  ///< macroblocks before the first one
    bool any = false;           ///< whether one was written
    Bits& last() noexcept { return parts[used - 1]; }
    Bits& begin_part();
    std::size_t count() const noexcept;  ///< bits, as far as the row knows them
    void clear() noexcept;
};

class Coder {
  public:
    /// `references`: an earlier picture for P and B, and a later one for B.
    Coder(const Kernels& kernels, const EncoderSettings& settings, const Place& place, const Quantisers& quantisers,
          Source& source, std::array<const Picture*, 2> references, Picture& picture)
        : kernels_{kernels}, settings_{settings}, place_{place}, quantisers_{quantisers}, source_{source},
          references_{references}, picture_{picture} {}

    void prepare(int row, std::span<const std::uint8_t> file_picture) const {
        source_.take(row, 0, size().across(), file_picture);
    }
    /// Of macroblocks [first, end).
    void prepare(int row, int first, int end, std::span<const std::uint8_t> file_picture) const {
        source_.take(row, first, end, file_picture);
    }
    void decide(int x, int y) const;
    void reconstruct(int x, int y, Levels& levels) const;
    void write(int x, int y, const Levels& levels, RowBits& bits) const;
    void filter(int row) const { filter(row, 0, size().across()); }
    /// Of macroblocks [first, end), when the one before them is filtered.
    void filter(int row, int first, int end) const;
    /// After the filter of the row: makes of it what a reference picture needs.
    void complete(int row) const;
    /// The rows of pixels that are final when a row of macroblocks is filtered, and were not before.
    Picture::Area final_rows(int row) const noexcept;
    /// Of these, what lies between pixels in this area of columns (compute_halves()), when their edges are there.
    void complete_halves(int row, int left, int right) const;
    /// The rows of macroblocks of a reference picture that have to be complete before this row can be decided.
    int rows_needed(int row) const noexcept;

    const Place& place() const noexcept { return place_; }
    const Picture& picture() const noexcept { return picture_; }
    Size size() const noexcept { return picture_.size(); }

  private:
    friend class Decision;
    friend class Reconstruction;
    const Kernels& kernels_;
    const EncoderSettings& settings_;
    Place place_;
    const Quantisers& quantisers_;
    Source& source_;
    std::array<const Picture*, 2> references_;
    Picture& picture_;
};

/// Puts the rows behind a slice's header, in order, with the runs of skipped macroblocks between them.
void put_rows(Bits& bits, std::span<const RowBits> rows, Type type);

}  // namespace penstock::apps::h264
