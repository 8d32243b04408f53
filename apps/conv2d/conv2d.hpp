// CONV2D: a dense filter over an image in tiles. Each task reads a strided window, its tile and a halo around it, of an
// image that was padded by reflection once (the border element is not repeated: BORDER_REFLECT_101 of OpenCV, 'mirror'
// of SciPy).
#pragma once

#include <cstddef>
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

namespace penstock::apps::conv2d {

/// Filter, row-major; both sides odd.
struct Filter {
    std::vector<float> weights;
    std::size_t rows = 0;
    std::size_t columns = 0;
};

/// The binomial 5 x 5 filter, which smooths: (1 4 6 4 1)^T (1 4 6 4 1) / 256.
Filter binomial();

/// Index `i` of a line of n elements, reflected at its ends as often as it takes: ... 2 1 | 0 1 2 ... n-1 | n-2 n-3 ...
std::size_t reflect(std::ptrdiff_t i, std::size_t n) noexcept;

/// One plane of an image with a border that the filter needs.
class PaddedPlane {
  public:
    /// Copies rows x columns pixels (at least one) and reflects them into the border.
    PaddedPlane(std::span<const float> pixels, std::size_t rows, std::size_t columns, const Filter& filter);

    /// All of it, the border too. Rows begin at cache lines.
    view<const float, 2> window() const noexcept { return {pixels_.data(), rows_, columns_, pitch_}; }

  private:
    std::size_t rows_, columns_;
    std::ptrdiff_t pitch_;
    Buffer<float> pixels_;
};

/// One thread, tile by tile.
void serial(view<const float, 2> window, const Filter& filter, view<float, 2> out, const Tiling& tiling);

/// Each thread of the team takes equally many tiles that follow one another. Returns seconds.
double hand(view<const float, 2> window, const Filter& filter, view<float, 2> out, const Tiling& tiling, Team& team);

/// Issues one tagged call for each tile. The caller waits.
void tagged(view<const float, 2> window, const Filter& filter, view<float, 2> out, const Tiling& tiling,
            Machine& machine);

/// As few calls as there are workers, each on a band of rows; the runtime chooses them. Waits for all.
void split(view<const float, 2> window, const Filter& filter, view<float, 2> out, Machine& machine);

/// The largest error of one plane of the result against float64, relative to the sum of |filter * pixel|, over every
/// `step`-th row.
double relative_error(std::span<const float> pixels, std::size_t rows, std::size_t columns, const Filter& filter,
                      std::span<const float> result, std::size_t step);

/// The application for the gallery. Settings: rows and columns (4096), block_rows and block_columns (64), seed. Inputs
/// "image" (rows x columns, or planes x rows x columns, float32) and "filter" (odd x odd, float32; the binomial 5 x 5).
/// Arrays kept: "filter", and "image" and "result" as the image was given.
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::conv2d
