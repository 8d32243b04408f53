// RGB to CIELAB over the tiles of a photograph, with the mean and the variance of each channel.
//
// As a graph: `read` cuts one tile after the other out of the photograph, copies of `convert` turn tiles into CIELAB,
// and `collect` puts them into the result, in whatever order they come. The statistics of a tile travel beside it and
// are merged in the order of the tiles, so every number of copies gives the same bits.
#pragma once

#include "apps/picture.hpp"
#include "apps/report.hpp"
#include "apps/tiles.hpp"
#include "kernels/lab.hpp"
#include "penstock/view.hpp"

namespace penstock {
class Components;
class Machine;
}  // namespace penstock

namespace penstock::apps::colour {

using kernels::ChannelStatistics;

/// What is converted, and where the result goes (rows x 3 columns).
struct Work {
    const Picture& picture;
    Tiling tiling;
    view<float, 2> lab;
};

/// One thread, tile after tile: each is read into a buffer, converted into another, and put into the result, as the
/// filters do it.
ChannelStatistics serial(const Work& work);

/// One thread, tile after tile, from the photograph into the result.
ChannelStatistics direct(const Work& work);

/// One tagged call a tile, from the photograph into the result.
ChannelStatistics tagged(const Work& work, Machine& machine);

/// The graph above with so many copies of `convert`, which reads the photograph `passes` times, as if it were so many
/// frames.
ChannelStatistics streamed(const Work& work, Machine& machine, int copies, std::size_t passes = 1);

/// The same where nothing is copied: what travels are the numbers of tiles. For machines of threads, which all see the
/// program's memory.
ChannelStatistics streamed_in_place(const Work& work, Machine& machine, int copies, std::size_t passes = 1);

/// The filters by name, for the graph above written down (colour.xml): with files at its ends, or with the program's
/// memory.
void add_components(Components& components);
void add_components(Components& components, const Work& work, ChannelStatistics& statistics);

/// The parts that the serial way, the filters and whoever else does the same share.
void read_tile(const Picture& picture, const Tile& tile, view<std::uint8_t, 2> rgb);
void place_tile(const Tile& tile, view<const float, 2> of_tile, view<float, 2> lab);
inline void read_tile(const Work& work, std::size_t number, view<std::uint8_t, 2> rgb) {
    read_tile(work.picture, work.tiling[number], rgb);
}
inline void place_tile(const Work& work, std::size_t number, view<const float, 2> lab) {
    place_tile(work.tiling[number], lab, work.lab);
}
/// From the photograph into the result
void convert_tile(const Work& work, std::size_t number, ChannelStatistics& statistics);
ChannelStatistics merged(std::span<const ChannelStatistics> tiles);

/// L*, a*, b* of one pixel by the definition, in float64.
std::array<double, 3> defined(const std::uint8_t* rgb);

/// The application for the gallery. Settings: rows (512) and columns (1024) of the photograph, block_rows and
/// block_columns (128) of a tile, seed. Input "image" (any rows x any columns x 3, uint8), which is mirrored to the
/// size. Arrays kept: "image" (of that size), "statistics" (2 x 3, float64: means and variances) and "result" (rows x
/// columns x 3, float32).
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::colour
