#include "apps/edge/jobs.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/stronger.hpp"

namespace penstock::apps::edge {
namespace {

void convolve(view<const float, 2> window, std::span<const float> weights, view<float, 2> response, std::size_t rows,
              kernels::Place at) {
    kernels::convolve_dense<float>(window, weights, response, {rows, weights.size() / rows}, at, border);
}

/// Down the columns of a window, for all of these.
void convolve_down(view<const float, 2> window, std::span<const float> weights, view<float, 2> smooth,
                   std::size_t row) {
    convolve(window, weights, smooth, weights.size(), {row, 0});
}

void keep_stronger(view<const float, 2> response, view<float, 2> strongest) {
    kernels::stronger(response, strongest, strongest);
}

}  // namespace

TileSize tile_size(std::size_t rows, std::size_t columns) noexcept {
    constexpr std::size_t widest = 512, elements = 32 * widest;
    const auto wide = std::clamp<std::size_t>(columns, 1, widest);
    const auto tiles = std::max<std::size_t>(1, (rows * wide + elements - 1) / elements);
    return {std::max<std::size_t>(1, (rows + tiles - 1) / tiles), wide};
}

std::vector<TileWindow> tiles_of(view<const float, 2> picture, view<float, 2> result) {
    const auto size = tile_size(picture.extent(0), picture.extent(1));
    const std::size_t rows = picture.extent(0), columns = picture.extent(1),
                      around = static_cast<std::size_t>(std::ceil(reach * widths.back()));
    std::vector<TileWindow> all;
    for (std::size_t row = 0; row < rows; row += size.rows) {
        for (std::size_t column = 0; column < columns; column += size.columns) {
            const std::size_t high = std::min(size.rows, rows - row), wide = std::min(size.columns, columns - column),
                              top = row - std::min(row, around), left = column - std::min(column, around),
                              bottom = std::min(rows, row + high + around),
                              right = std::min(columns, column + wide + around);
            all.push_back({picture.part({top, left}, {bottom - top, right - left}),
                           result.part({row, column}, {high, wide}),
                           {row - top, column - left}});
        }
    }
    return all;
}

const DenseJobs::TileChain& DenseJobs::chain(std::size_t angle, std::size_t rows, std::size_t columns) {
    auto& made = chains_[{angle, rows, columns}];
    if (made.size() != 0) return made;
    const auto [window, tile, at] = made.parameters();
    const auto response = made.local<float>(rows, columns);
    made.add<clear>(out(tile));
    for (const Kernel& kernel : turned_kernels({angle, angles_})) {
        made.add<convolve>(in(window), in(kernel.weights), out(response), kernel.side, at);
        made.add<keep_stronger>(in(response), inout(tile));
    }
    return made;
}

void DenseJobs::issue(Spread& tasks, std::size_t angle, view<const float, 2> picture, view<float, 2> strongest) {
    for (const auto& [window, tile, at] : tiles_of(picture, strongest))
        tasks.call(chain(angle, tile.extent(0), tile.extent(1)), in(window), out(tile), at);
}

SeparableJobs::SeparableJobs() {
    for (const double width : widths) {
        derivatives_.push_back(derivative(width));
        smoothings_.push_back(smoothing(width));
    }
}

const SeparableJobs::TileChain& SeparableJobs::chain(const TileWindow& of) {
    const std::size_t rows = of.tile.extent(0), columns = of.tile.extent(1), wide = of.window.extent(1),
                      left = of.at.column;
    auto& made = chains_[{rows, columns, wide, left}];
    if (made.size() != 0) return made;
    const auto [window, tile, row] = made.parameters();
    const auto smooth = made.local<float>(rows, wide);
    const auto response = made.local<float>(rows, columns);
    made.add<clear>(out(tile));
    for (const Kernel& across : smoothings_) {
        made.add<convolve_down>(in(window), in(across.weights), out(smooth), row);
        for (const Kernel& along : derivatives_) {
            made.add<convolve>(in(smooth), in(along.weights), out(response), std::size_t{1}, kernels::Place{0, left});
            made.add<keep_stronger>(in(response), inout(tile));
        }
    }
    return made;
}

void SeparableJobs::issue(Spread& tasks, view<const float, 2> canvas, view<float, 2> strongest) {
    for (const auto& each : tiles_of(canvas, strongest))
        tasks.call(chain(each), in(each.window), out(each.tile), each.at.row);
}

}  // namespace penstock::apps::edge
