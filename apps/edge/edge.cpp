#include "apps/edge/edge.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>
#include <utility>

#include "kernels/maximum.hpp"
#include "kernels/stronger.hpp"

namespace penstock::apps::edge {
namespace {

using Pixels = std::vector<float>;

std::ptrdiff_t reach_of(double sigma) noexcept { return static_cast<std::ptrdiff_t>(std::ceil(reach * sigma)); }
std::size_t side_of(std::ptrdiff_t radius) noexcept { return static_cast<std::size_t>(2 * radius + 1); }

double gaussian(double x, double sigma) noexcept { return std::exp(-x * x / (2 * sigma * sigma)); }

// The weights in single precision, so that their magnitudes sum up to `sum`.
std::vector<float> scaled(const std::vector<double>& weights, double sum) {
    double magnitudes = 0;
    for (const double weight : weights) magnitudes += std::abs(weight);
    std::vector<float> result;
    result.reserve(weights.size());
    for (const double weight : weights) result.push_back(static_cast<float>(weight * sum / magnitudes));
    return result;
}

view<float, 2> shaped(Pixels& memory, std::size_t rows, std::size_t columns) {
    memory.resize(rows * columns);
    return {memory.data(), {rows, columns}};
}

}  // namespace

void clear(view<float, 2> image) {
    for (std::size_t i = 0; i < image.extent(0); ++i) std::ranges::fill(image.row(i), 0.0f);
}

double Angle::radians() const noexcept {
    return static_cast<double>(number) * std::numbers::pi / static_cast<double>(count);
}

Kernel derivative(double sigma) {
    const std::ptrdiff_t radius = reach_of(sigma);
    std::vector<double> weights;
    for (std::ptrdiff_t x = -radius; x <= radius; ++x)
        weights.push_back(static_cast<double>(x) * gaussian(static_cast<double>(x), sigma));
    return {side_of(radius), scaled(weights, 2)};
}

Kernel smoothing(double sigma) {
    const std::ptrdiff_t radius = reach_of(sigma);
    std::vector<double> weights;
    for (std::ptrdiff_t x = -radius; x <= radius; ++x) weights.push_back(gaussian(static_cast<double>(x), sigma));
    return {side_of(radius), scaled(weights, 1)};
}

Kernel turned_kernel(double along, double across, const Angle& angle) {
    const std::ptrdiff_t radius = reach_of(std::max(along, across));
    const double c = std::cos(angle.radians()), s = std::sin(angle.radians());
    std::vector<double> weights;
    for (std::ptrdiff_t i = -radius; i <= radius; ++i) {
        for (std::ptrdiff_t j = -radius; j <= radius; ++j) {
            const auto row = static_cast<double>(i), column = static_cast<double>(j);
            const double u = column * c + row * s, v = row * c - column * s;
            weights.push_back(u * gaussian(u, along) * gaussian(v, across));
        }
    }
    return {side_of(radius), scaled(weights, 2)};
}

const std::vector<Kernel>& turned_kernels(const Angle& angle) {
    static std::mutex lock;
    static std::map<std::pair<std::size_t, std::size_t>, std::vector<Kernel>> made;
    const std::lock_guard locked(lock);
    auto& kernels = made[{angle.count, angle.number}];
    if (kernels.empty()) {
        std::vector<Kernel> all;
        for (const double along : widths)
            for (const double across : widths) all.push_back(turned_kernel(along, across, angle));
        kernels = std::move(all);
    }
    return kernels;
}

void Dense::operator()(view<const float, 2> picture, view<float, 2> response, view<float, 2> strongest) const {
    clear(strongest);
    for (const Kernel& kernel : *kernels_) {
        kernels::convolve_dense<float>(picture, kernel.weights, response, {kernel.side, kernel.side}, {}, border);
        kernels::stronger(response, strongest, strongest);
    }
}

Turn::Turn(const Angle& angle, std::size_t picture_rows, std::size_t picture_columns) {
    const double c = std::cos(angle.radians()), s = std::sin(angle.radians());
    const auto high = static_cast<double>(picture_rows - 1), wide = static_cast<double>(picture_columns - 1);
    const auto margin = 2 * static_cast<std::size_t>(reach_of(widths.back()));
    rows = static_cast<std::size_t>(std::ceil(high * std::abs(c) + wide * std::abs(s) - 1e-9)) + 1 + margin;
    columns = static_cast<std::size_t>(std::ceil(high * std::abs(s) + wide * std::abs(c) - 1e-9)) + 1 + margin;
    // Both are turned about their middles: the canvas's columns lie along the angle, its rows across it.
    const double row = high / 2, column = wide / 2, canvas_row = static_cast<double>(rows - 1) / 2,
                 canvas_column = static_cast<double>(columns - 1) / 2;
    there.m = {c,  s, row - c * canvas_row - s * canvas_column,  //
               -s, c, column + s * canvas_row - c * canvas_column};
    back.m = {c, -s, canvas_row - c * row + s * column,  //
              s, c,  canvas_column - s * row - c * column};
}

Separable::Separable() {
    for (const double width : widths) {
        derivatives_.push_back(derivative(width));
        smoothings_.push_back(smoothing(width));
    }
}

void Separable::operator()(view<const float, 2> canvas, view<float, 2> smooth, view<float, 2> response,
                           view<float, 2> strongest) const {
    clear(strongest);
    for (const Kernel& across : smoothings_) {
        kernels::convolve_dense<float>(canvas, across.weights, smooth, {across.side, 1}, {}, border);
        for (const Kernel& along : derivatives_) {
            kernels::convolve_dense<float>(smooth, along.weights, response, {1, along.side}, {}, border);
            kernels::stronger(response, strongest, strongest);
        }
    }
}

Detector::Detector(Algorithm algorithm, std::size_t angles) : algorithm_{algorithm}, angles_{angles}, dense_(angles) {}

void Detector::operator()(view<const float, 2> picture, std::size_t angle, view<float, 2> result) {
    if (algorithm_ == Algorithm::turned) return turn_and_back(picture, {angle, angles_}, result);
    auto& dense = dense_[angle];
    if (!dense) dense.emplace(Angle{angle, angles_});
    (*dense)(picture, shaped(response_, picture.extent(0), picture.extent(1)), result);
}

void Detector::turn_and_back(view<const float, 2> picture, const Angle& angle, view<float, 2> result) {
    const Turn turn{angle, picture.extent(0), picture.extent(1)};
    const auto turned = shaped(turned_, turn.rows, turn.columns),
               strongest = shaped(strongest_, turn.rows, turn.columns);
    kernels::affine<float>(picture, turned, turn.there, kernels::Interpolation::bilinear, border);
    separable_(turned, shaped(smooth_, turn.rows, turn.columns), shaped(response_, turn.rows, turn.columns), strongest);
    kernels::affine<float>(strongest, result, turn.back, kernels::Interpolation::bilinear, border);
}

void serial(Algorithm algorithm, view<const float, 3> pictures, view<float, 3> result, std::size_t angles) {
    Detector detect{algorithm, angles};
    Pixels memory;
    const auto strongest = shaped(memory, pictures.extent(1), pictures.extent(2));
    for (std::size_t p = 0; p < pictures.extent(0); ++p) {
        const auto best = picture_of(result, p);
        detect(picture_of(pictures, p), 0, best);
        for (std::size_t angle = 1; angle < angles; ++angle) {
            detect(picture_of(pictures, p), angle, strongest);
            kernels::maximum<float>(strongest, best, best);
        }
    }
}

}  // namespace penstock::apps::edge
