#include "apps/pipeline/pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/maximum.hpp"
#include "penstock/machine.hpp"

namespace penstock::apps::pipeline {
namespace {

using kernels::Part;
using kernels::Place;
using kernels::Whole;

// The part and one pixel more on each side, as far as the image goes.
Part with_margin(const Part& part, std::size_t rows, std::size_t columns) noexcept {
    const std::size_t top = part.at.row - std::min<std::size_t>(part.at.row, 1);
    const std::size_t left = part.at.column - std::min<std::size_t>(part.at.column, 1);
    const std::size_t bottom = std::min(part.at.row + part.rows + 1, rows),
                      right = std::min(part.at.column + part.columns + 1, columns);
    return {{top, left}, bottom - top, right - left};
}

Part part_of(const Tile& tile) noexcept { return {{tile.row, tile.column}, tile.rows, tile.columns}; }

// Memory for the parts of one tile, which grows to what the largest needs.
struct Scratch {
    std::vector<float> greater, filtered;
    static view<float, 2> shaped(std::vector<float>& memory, const Part& part) {
        if (memory.size() < part.rows * part.columns) memory.resize(part.rows * part.columns);
        return {memory.data(), {part.rows, part.columns}};
    }
};

void one_tile(const Work& work, const Images& images, const Tile& tile, Scratch& scratch) {
    const std::size_t rows = images.result.extent(0), columns = images.result.extent(1);
    const Need need = need_of(work, tile, rows, columns);
    const auto greater = Scratch::shaped(scratch.greater, need.greater);
    const auto filtered = Scratch::shaped(scratch.filtered, need.filtered);
    kernels::maximum<float>(cut(images.first, need.greater), cut(images.second, need.greater), greater);
    kernels::convolve_3x3<float>(greater, filtered, work.filter, need.place(), border);
    kernels::affine<float>(filtered, part(images.result, tile), work.map, interpolation, border,
                           {tile.row, tile.column}, {need.filtered.at, rows, columns});
}

}  // namespace

Work smooth_and_turn(std::size_t rows, std::size_t columns) {
    Work work;
    for (std::size_t i = 0; i < 9; ++i)
        work.filter.weights[i] = (i / 3 == 1 ? 2.0f : 1.0f) * (i % 3 == 1 ? 2.0f : 1.0f) / 16;
    const double angle = 10 * std::numbers::pi / 180, along = 0.9 * std::cos(angle), across = 0.9 * std::sin(angle);
    const double row = (static_cast<double>(rows) - 1) / 2, column = (static_cast<double>(columns) - 1) / 2;
    work.map.m = {along,   across, row - along * row - across * column,
                  -across, along,  column + across * row - along * column};
    return work;
}

Need need_of(const Work& work, const Tile& tile, std::size_t rows, std::size_t columns) noexcept {
    const Part filtered = kernels::affine_part(work.map, part_of(tile), rows, columns, border.rule);
    return {filtered, with_margin(filtered, rows, columns)};
}

void serial(const Work& work, const Images& images, const Between& between) {
    kernels::maximum<float>(images.first, images.second, between.greater);
    kernels::convolve_3x3<float>(between.greater, between.filtered, work.filter, {}, border);
    kernels::affine<float>(between.filtered, images.result, work.map, interpolation, border);
}

double hand(const Work& work, const Images& images, const Tiling& tiling, Team& team) {
    std::vector<Scratch> scratch(static_cast<std::size_t>(team.size()));
    return team.run([&](int rank) {
        const Range share = team.share(rank, tiling.count());
        for (std::size_t t = share.begin; t < share.end; ++t)
            one_tile(work, images, tiling[t], scratch[static_cast<std::size_t>(rank)]);
    });
}

void tagged(const Work& work, const Images& images, const Between& between, const Tiling& tiling, Machine& machine) {
    const view<const float, 2> greater = between.greater, filtered = between.filtered;
    for (std::size_t t = 0; t < tiling.count(); ++t) {
        const Tile tile = tiling[t];
        machine.call<kernels::maximum<float>>(in(part(images.first, tile)), in(part(images.second, tile)),
                                              out(part(between.greater, tile)));
    }
    machine.barrier();
    for (std::size_t t = 0; t < tiling.count(); ++t) {
        const Tile tile = tiling[t];
        const Need need{part_of(tile), with_margin(part_of(tile), tiling.rows, tiling.columns)};
        machine.call<kernels::convolve_3x3<float>>(in(cut(greater, need.greater)), out(part(between.filtered, tile)),
                                                   work.filter, need.place(), border);
    }
    machine.barrier();
    for (std::size_t t = 0; t < tiling.count(); ++t) {
        const Tile tile = tiling[t];
        const Need need = need_of(work, tile, tiling.rows, tiling.columns);
        machine.call<kernels::affine<float>>(in(cut(filtered, need.filtered)), out(part(images.result, tile)), work.map,
                                             interpolation, border, Place{tile.row, tile.column},
                                             Whole{need.filtered.at, tiling.rows, tiling.columns});
    }
    machine.barrier();
}

}  // namespace penstock::apps::pipeline
