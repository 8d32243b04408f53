#include "images/cases.hpp"

#include <array>
#include <memory>
#include <random>
#include <vector>

#include "apps/buffer.hpp"
#include "kernels/affine.hpp"
#include "kernels/convolution.hpp"
#include "kernels/idct.hpp"
#include "kernels/lab.hpp"
#include "kernels/local_binary_pattern.hpp"
#include "kernels/maximum.hpp"
#include "kernels/yuv.hpp"

namespace bench {
namespace {

namespace kernels = penstock::kernels;
using penstock::view;

/// In huge pages where they can be had, as NumPy asks for its larger arrays, which the libraries get.
template <class T>
using Pixels = std::shared_ptr<penstock::apps::Buffer<T>>;

template <class T>
Pixels<T> pixels(std::size_t count, unsigned seed) {
    const auto made = std::make_shared<penstock::apps::Buffer<T>>(count);
    std::mt19937 random{seed};
    for (T& value : made->span())
        value = std::is_floating_point_v<T> ? static_cast<T>(random()) * T(0x1p-32) : static_cast<T>(random() >> 24);
    return made;
}

template <class T>
view<T, 2> image(const Pixels<T>& of, std::size_t rows, std::size_t columns, std::size_t first = 0) {
    return {of->data() + first, {rows, columns}};
}

template <class T>
const char* const type = std::is_floating_point_v<T> ? "float32" : "uint8";

/// A kernel that makes one image of another of the same type: body(from, to).
template <class T, class Body>
ImageCase one_to_one(std::string name, Body body) {
    return {std::move(name), type<T>, sizeof(T), sizeof(T),
            [body](std::size_t rows, std::size_t columns) -> std::function<void()> {
                const auto from = pixels<T>(rows * columns, 1), to = pixels<T>(rows * columns, 2);
                return [=] { body(view<const T, 2>{image(from, rows, columns)}, image(to, rows, columns)); };
            }};
}

/// Weights in parts of 16, as both types take them.
template <class T, std::size_t taps>
kernels::Filter<T, taps> sixteenths(const std::array<int, taps>& weights) {
    kernels::Filter<T, taps> filter;
    for (std::size_t k = 0; k < taps; ++k)
        filter.weights[k] = std::is_floating_point_v<T> ? static_cast<kernels::Weight<T>>(weights[k] / 16.0)
                                                        : static_cast<kernels::Weight<T>>(weights[k]);
    if constexpr (!std::is_floating_point_v<T>) filter.shift = 4;
    return filter;
}

template <class T>
void add_cases(std::vector<ImageCase>& cases) {
    using kernels::Weight;
    constexpr int bits = std::is_floating_point_v<T> ? 0 : 1;
    cases.push_back({"maximum", type<T>, 2 * sizeof(T), sizeof(T),
                     [](std::size_t rows, std::size_t columns) -> std::function<void()> {
                         const auto a = pixels<T>(rows * columns, 1), b = pixels<T>(rows * columns, 2),
                                    out = pixels<T>(rows * columns, 3);
                         return [=] {
                             kernels::maximum<T>(image(a, rows, columns), image(b, rows, columns),
                                                 image(out, rows, columns));
                         };
                     }});
    cases.push_back(one_to_one<T>("convolution-3x3", [](auto from, auto to) {
        kernels::convolve_3x3<T>(from, to, sixteenths<T, 9>({1, 2, 1, 2, 5, 2, 0, 2, 1}));
    }));
    cases.push_back(one_to_one<T>("convolution-5x1", [](auto from, auto to) {
        kernels::convolve_5x1<T>(from, to, sixteenths<T, 5>({1, 4, 6, 4, 1}));
    }));
    cases.push_back(one_to_one<T>("convolution-separable-5x5", [](auto from, auto to) {
        const auto line = sixteenths<T, 5>({1, 4, 6, 4, 1}).weights;
        kernels::convolve_separable<T>(from, line, line, to, 8 * bits);
    }));
    for (const std::size_t side : {5u, 7u}) {
        std::vector<Weight<T>> weights(side * side);
        for (std::size_t k = 0; k < weights.size(); ++k)
            weights[k] = std::is_floating_point_v<T>
                             ? static_cast<Weight<T>>(k) / static_cast<Weight<T>>(weights.size())
                             : static_cast<Weight<T>>(k);
        cases.push_back(one_to_one<T>("convolution-dense-" + std::to_string(side) + "x" + std::to_string(side),
                                      [weights, side](auto from, auto to) {
                                          kernels::convolve_dense<T>(from, weights, to, {side, side, 10 * bits});
                                      }));
    }
    for (const auto& [name, interpolation] : {std::pair{"affine-bilinear", kernels::Interpolation::bilinear},
                                              std::pair{"affine-nearest", kernels::Interpolation::nearest}})
        cases.push_back(one_to_one<T>(name, [interpolation = interpolation](auto from, auto to) {
            kernels::affine<T>(from, to, {{0.9, 0.3, -20, -0.3, 0.9, 50}}, interpolation,
                               {kernels::Outside::replicate, T{}});
        }));
}

ImageCase yuv(std::string name, std::size_t share, kernels::YuvRange range) {
    return {std::move(name), "uint8", share == 1 ? 3.0 : 1.5, 3,
            [=](std::size_t rows, std::size_t columns) -> std::function<void()> {
                const auto planes = pixels<std::uint8_t>(3 * rows * columns, 1),
                           rgb = pixels<std::uint8_t>(3 * rows * columns, 2);
                const std::size_t down = rows / share, across = columns / share;
                return [=] {
                    kernels::yuv_to_rgb(image(planes, rows, columns), image(planes, down, across, rows * columns),
                                        image(planes, down, across, rows * columns + down * across),
                                        image(rgb, rows, 3 * columns), range);
                };
            }};
}

}  // namespace

std::vector<ImageCase> image_cases() {
    std::vector<ImageCase> cases;
    add_cases<std::uint8_t>(cases);
    add_cases<float>(cases);
    cases.push_back(yuv("yuv2rgb-420", 2, kernels::YuvRange::studio));
    cases.push_back(yuv("yuv2rgb-444", 1, kernels::YuvRange::full));
    cases.push_back({"idct-8x8", "float32", 4, 4, [](std::size_t rows, std::size_t columns) -> std::function<void()> {
                         const auto from = pixels<float>(rows * columns, 1), to = pixels<float>(rows * columns, 2);
                         return [=] { kernels::idct_8x8(from->span(), to->span()); };
                     }});
    const auto lab = [](const char* name, auto body) -> ImageCase {
        return {name, "uint8", 3, 3 * sizeof(float),
                [body](std::size_t rows, std::size_t columns) -> std::function<void()> {
                    const auto rgb = pixels<std::uint8_t>(3 * rows * columns, 1);
                    const auto to = pixels<float>(3 * rows * columns, 2);
                    return [=] {
                        body(view<const std::uint8_t, 2>{image(rgb, rows, 3 * columns)}, image(to, rows, 3 * columns));
                    };
                }};
    };
    cases.push_back(lab("rgb-to-lab", [](auto rgb, auto to) { kernels::rgb_to_lab(rgb, to); }));
    cases.push_back(lab("rgb-to-lab-statistics", [](auto rgb, auto to) {
        kernels::ChannelStatistics statistics;
        kernels::rgb_to_lab_with_statistics(rgb, to, {&statistics, 1});
    }));
    cases.push_back(one_to_one<std::uint8_t>(
        "local-binary-pattern", [](auto from, auto to) { kernels::local_binary_pattern<std::uint8_t>(from, to); }));
    return cases;
}

}  // namespace bench
