#include "apps/conv2d/conv2d.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/correlate.hpp"
#include "penstock/machine.hpp"
#include "penstock/split.hpp"

namespace penstock::apps::conv2d {
namespace {

constexpr std::size_t line = 16;  // floats of a cache line

std::ptrdiff_t pitch_of(std::size_t columns) { return static_cast<std::ptrdiff_t>(parts(columns, line) * line); }

view<const float, 2> with_halo(view<const float, 2> window, const Tile& tile, const Filter& filter) {
    return part(window, tile, filter.rows - 1, filter.columns - 1);
}

}  // namespace

Filter binomial() {
    const float side[] = {1, 4, 6, 4, 1};
    Filter filter{{}, 5, 5};
    for (const float u : side) {
        for (const float v : side) filter.weights.push_back(u * v / 256);
    }
    return filter;
}

std::size_t reflect(std::ptrdiff_t i, std::size_t n) noexcept {
    if (n == 1) return 0;
    const auto period = static_cast<std::ptrdiff_t>(2 * (n - 1));
    const auto folded = static_cast<std::size_t>((i % period + period) % period);
    return folded < n ? folded : static_cast<std::size_t>(period) - folded;
}

PaddedPlane::PaddedPlane(std::span<const float> pixels, std::size_t rows, std::size_t columns, const Filter& filter)
    : rows_{rows + filter.rows - 1}, columns_{columns + filter.columns - 1}, pitch_{pitch_of(columns_)},
      pixels_{rows_ * static_cast<std::size_t>(pitch_)} {
    const auto above = static_cast<std::ptrdiff_t>(filter.rows / 2);
    const auto left = static_cast<std::ptrdiff_t>(filter.columns / 2);
    for (std::size_t i = 0; i < rows_; ++i) {
        const float* from = pixels.data() + reflect(static_cast<std::ptrdiff_t>(i) - above, rows) * columns;
        float* to = pixels_.data() + i * static_cast<std::size_t>(pitch_);
        for (std::size_t j = 0; j < columns_; ++j)
            to[j] = from[reflect(static_cast<std::ptrdiff_t>(j) - left, columns)];
    }
}

void serial(view<const float, 2> window, const Filter& filter, view<float, 2> out, const Tiling& tiling) {
    for (std::size_t t = 0; t < tiling.count(); ++t) {
        kernels::correlate(with_halo(window, tiling[t], filter), filter.weights, part(out, tiling[t]));
    }
}

double hand(view<const float, 2> window, const Filter& filter, view<float, 2> out, const Tiling& tiling, Team& team) {
    return team.run([&](int rank) {
        const Range share = team.share(rank, tiling.count());
        for (std::size_t t = share.begin; t < share.end; ++t) {
            kernels::correlate(with_halo(window, tiling[t], filter), filter.weights, part(out, tiling[t]));
        }
    });
}

void tagged(view<const float, 2> window, const Filter& filter, view<float, 2> out, const Tiling& tiling,
            Machine& machine) {
    for (std::size_t t = 0; t < tiling.count(); ++t) {
        const Tile tile = tiling[t];
        machine.call<kernels::correlate>(in(with_halo(window, tile, filter)), in(filter.weights),
                                         penstock::out(part(out, tile)));
    }
}

void split(view<const float, 2> window, const Filter& filter, view<float, 2> out, Machine& machine) {
    penstock::split<kernels::correlate>(machine, overlapping(in(window), filter.rows - 1), whole(in(filter.weights)),
                                        penstock::out(out));
}

double relative_error(std::span<const float> pixels, std::size_t rows, std::size_t columns, const Filter& filter,
                      std::span<const float> result, std::size_t step) {
    const auto above = static_cast<std::ptrdiff_t>(filter.rows / 2);
    const auto left = static_cast<std::ptrdiff_t>(filter.columns / 2);
    double worst = 0;
    for (std::size_t i = 0; i < rows; i += step) {
        std::vector<double> exact(columns), magnitude(columns);
        for (std::size_t u = 0; u < filter.rows; ++u) {
            const float* from = pixels.data() + reflect(static_cast<std::ptrdiff_t>(i + u) - above, rows) * columns;
            for (std::size_t v = 0; v < filter.columns; ++v) {
                const double weight = filter.weights[u * filter.columns + v];
                for (std::size_t j = 0; j < columns; ++j) {
                    const double term = weight * from[reflect(static_cast<std::ptrdiff_t>(j + v) - left, columns)];
                    exact[j] += term;
                    magnitude[j] += std::abs(term);
                }
            }
        }
        for (std::size_t j = 0; j < columns; ++j) {
            const double error = std::abs(result[i * columns + j] - exact[j]);
            worst = worse(error == 0 ? 0 : error / magnitude[j], worst);
        }
    }
    return worst;
}

}  // namespace penstock::apps::conv2d
