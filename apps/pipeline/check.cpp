// The pipeline once more, from its definition, in float64 and without the kernels.
#include <algorithm>
#include <cmath>

#include "apps/compare.hpp"
#include "apps/pipeline/pipeline.hpp"

namespace penstock::apps::pipeline {
namespace {

class Defined {
  public:
    Defined(const Work& work, const Images& images) : work_{work}, images_{images} {}

    double result(std::size_t i, std::size_t j) const {
        const auto& m = work_.map.m;
        const auto row = static_cast<double>(i), column = static_cast<double>(j);
        const double y = m[0] * row + m[1] * column + m[2], x = m[3] * row + m[4] * column + m[5];
        const double above = std::floor(y), left = std::floor(x), down = y - above, right = x - left;
        const auto r = static_cast<std::ptrdiff_t>(above), c = static_cast<std::ptrdiff_t>(left);
        return (1 - down) * ((1 - right) * filtered(r, c) + right * filtered(r, c + 1)) +
               down * ((1 - right) * filtered(r + 1, c) + right * filtered(r + 1, c + 1));
    }

  private:
    // Of an image's index, also one outside, the pixel that stands for it.
    std::ptrdiff_t row(std::ptrdiff_t i) const noexcept {
        return kernels::inside(i, images_.result.extent(0), border.rule);
    }
    std::ptrdiff_t column(std::ptrdiff_t j) const noexcept {
        return kernels::inside(j, images_.result.extent(1), border.rule);
    }

    // The border is that of the filtered image, so the place is brought inside before the filter is laid over it.
    double filtered(std::ptrdiff_t i, std::ptrdiff_t j) const {
        i = row(i);
        j = column(j);
        double sum = 0;
        for (std::ptrdiff_t u = 0; u < 3; ++u) {
            for (std::ptrdiff_t v = 0; v < 3; ++v) {
                const auto r = static_cast<std::size_t>(row(i + u - 1)),
                           c = static_cast<std::size_t>(column(j + v - 1));
                const double a = images_.first(r, c), b = images_.second(r, c);
                sum += static_cast<double>(work_.filter.weights[static_cast<std::size_t>(3 * u + v)]) * worse(a, b);
            }
        }
        return sum;
    }

    const Work& work_;
    const Images& images_;
};

double largest(view<const float, 2> image) {
    double most = 0;
    for (std::size_t i = 0; i < image.extent(0); ++i) {
        for (const float pixel : image.row(i)) most = worse(std::abs(static_cast<double>(pixel)), most);
    }
    return most;
}

}  // namespace

double relative_error(const Work& work, const Images& images, std::size_t step) {
    double weights = 0;
    for (const float weight : work.filter.weights) weights += std::abs(static_cast<double>(weight));
    const double unit = weights * worse(largest(images.first), largest(images.second));
    const Defined defined{work, images};
    double most = 0;
    for (std::size_t i = 0; i < images.result.extent(0); i += step) {
        for (std::size_t j = 0; j < images.result.extent(1); ++j)
            most = worse(std::abs(static_cast<double>(images.result(i, j)) - defined.result(i, j)), most);
    }
    return most == 0 ? 0 : most / unit;
}

}  // namespace penstock::apps::pipeline
