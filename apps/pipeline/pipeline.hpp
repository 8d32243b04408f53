// A pipeline of images in tiles: the greater of two images, filtered with 3 x 3 weights, turned and scaled.
//
// A tile of the result reads a part of the filtered image, and that part reads a part of the greater image that is
// larger by one pixel on each side. By stages, both images in between go through main memory. Tile by tile they never
// exist: only the parts that one tile needs, in memory near the core. The kernels give the same bits however an image
// is cut, so all ways give the same result.
#pragma once

#include <cstddef>

#include "apps/report.hpp"
#include "apps/team.hpp"
#include "apps/tiles.hpp"
#include "kernels/affine.hpp"
#include "kernels/convolution.hpp"
#include "penstock/view.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps::pipeline {

/// What is done: result := affine(convolve(maximum(first, second))), the result as large as the images.
struct Work {
    kernels::Filter<float, 9> filter;
    kernels::Affine map;
};

/// What lies outside of the images: c b | a b c d | c b (BORDER_REFLECT_101 of OpenCV, 'mirror' of SciPy).
inline constexpr kernels::Border<float> border{kernels::Outside::reflect101, 0};

inline constexpr auto interpolation = kernels::Interpolation::bilinear;

/// Smooths by the weights 1 2 1 both ways, turns by 10 degrees about the middle, and enlarges by a ninth: the pipeline
/// of the gallery's run.
Work smooth_and_turn(std::size_t rows, std::size_t columns);

/// The images of one run, all of the same shape. Pixels of a row follow one another.
struct Images {
    view<const float, 2> first, second;
    view<float, 2> result;
};

/// Whole images for what lies between two stages.
struct Between {
    view<float, 2> greater, filtered;
};

/// What a tile of the result needs: a part of the filtered image, and the part of the greater image that this needs.
struct Need {
    kernels::Part filtered, greater;
    /// Where the filtered part lies within the greater one.
    kernels::Place place() const noexcept {
        return {filtered.at.row - greater.at.row, filtered.at.column - greater.at.column};
    }
};

/// `rows` and `columns` are those of the images.
Need need_of(const Work& work, const Tile& tile, std::size_t rows, std::size_t columns) noexcept;

/// `part` of an image.
template <class T>
view<T, 2> cut(view<T, 2> image, const kernels::Part& part) noexcept {
    return image.part({part.at.row, part.at.column}, {part.rows, part.columns});
}

/// One thread, stage after stage.
void serial(const Work& work, const Images& images, const Between& between);

/// Each thread of the team takes equally many tiles that follow one another, and all three stages of a tile at once,
/// with memory of its own for what lies between. Returns seconds.
double hand(const Work& work, const Images& images, const Tiling& tiling, Team& team);

/// One tagged call for each tile of each stage, and a barrier behind each stage.
void tagged(const Work& work, const Images& images, const Between& between, const Tiling& tiling, Machine& machine);

/// The largest error of the result against the definition in float64, over every `step`-th row, in units of the largest
/// pixel times the sum of the filter's weights without their signs.
double relative_error(const Work& work, const Images& images, std::size_t step);

/// The application for the gallery. Settings: rows and columns (2048), block_rows and block_columns (64), seed. Inputs
/// "first" and "second" (rows x columns, float32), "filter" (3 x 3, float32) and "map" (2 x 3, float64: for each row
/// and column of the result the row and the column of the image, as kernels::Affine). Arrays kept: these, and "result".
/// A tile's parts of both images between the stages must fit a target's local store: tiles must be small where the map
/// makes images much smaller.
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::pipeline
