#include "apps/colour/colour.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "penstock/machine.hpp"

namespace penstock::apps::colour {

void read_tile(const Picture& picture, const Tile& tile, view<std::uint8_t, 2> rgb) {
    const auto from = picture.part(tile);
    for (std::size_t i = 0; i < from.extent(0); ++i) std::copy_n(from.row(i).data(), from.extent(1), rgb.row(i).data());
}

void place_tile(const Tile& tile, view<const float, 2> of_tile, view<float, 2> lab) {
    const auto to = lab.part({tile.row, 3 * tile.column}, {tile.rows, 3 * tile.columns});
    for (std::size_t i = 0; i < to.extent(0); ++i) std::copy_n(of_tile.row(i).data(), to.extent(1), to.row(i).data());
}

void convert_tile(const Work& work, std::size_t number, ChannelStatistics& statistics) {
    const Tile tile = work.tiling[number];
    kernels::rgb_to_lab_with_statistics(work.picture.part(tile),
                                        work.lab.part({tile.row, 3 * tile.column}, {tile.rows, 3 * tile.columns}),
                                        {&statistics, 1});
}

ChannelStatistics merged(std::span<const ChannelStatistics> tiles) {
    ChannelStatistics all;
    for (const ChannelStatistics& tile : tiles) all.merge(tile);
    return all;
}

ChannelStatistics serial(const Work& work) {
    std::vector<std::uint8_t> rgb(work.tiling.tile_rows * work.tiling.tile_columns * 3);
    std::vector<float> lab(rgb.size());
    std::vector<ChannelStatistics> tiles(work.tiling.count());
    for (std::size_t t = 0; t < tiles.size(); ++t) {
        const Tile tile = work.tiling[t];
        const view<std::uint8_t, 2> from{rgb.data(), {tile.rows, 3 * tile.columns}};
        const view<float, 2> to{lab.data(), {tile.rows, 3 * tile.columns}};
        read_tile(work, t, from);
        kernels::rgb_to_lab_with_statistics(from, to, {&tiles[t], 1});
        place_tile(work, t, to);
    }
    return merged(tiles);
}

ChannelStatistics direct(const Work& work) {
    std::vector<ChannelStatistics> tiles(work.tiling.count());
    for (std::size_t t = 0; t < tiles.size(); ++t) convert_tile(work, t, tiles[t]);
    return merged(tiles);
}

ChannelStatistics tagged(const Work& work, Machine& machine) {
    std::vector<ChannelStatistics> tiles(work.tiling.count());
    for (std::size_t t = 0; t < tiles.size(); ++t) {
        const Tile tile = work.tiling[t];
        machine.call<kernels::rgb_to_lab_with_statistics>(
            in(work.picture.part(tile)), out(work.lab.part({tile.row, 3 * tile.column}, {tile.rows, 3 * tile.columns})),
            out(std::span(&tiles[t], 1)));
    }
    machine.barrier();
    return merged(tiles);
}

std::array<double, 3> defined(const std::uint8_t* rgb) {
    // IEC 61966-2-1 for sRGB, CIE 15 for L*a*b*, the white point D65 of the 2 degree observer.
    std::array<double, 3> light;
    for (std::size_t c = 0; c < 3; ++c) {
        const double value = rgb[c] / 255.0;
        light[c] = value > 0.04045 ? std::pow((value + 0.055) / 1.055, 2.4) : value / 12.92;
    }
    constexpr double to_xyz[3][3] = {
        {0.412453, 0.357580, 0.180423}, {0.212671, 0.715160, 0.072169}, {0.019334, 0.119193, 0.950227}};
    constexpr double white[3] = {0.95047, 1.0, 1.08883};
    std::array<double, 3> f;
    for (std::size_t c = 0; c < 3; ++c) {
        const double t = (to_xyz[c][0] * light[0] + to_xyz[c][1] * light[1] + to_xyz[c][2] * light[2]) / white[c];
        f[c] = t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116.0;
    }
    return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

}  // namespace penstock::apps::colour
