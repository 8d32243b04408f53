// Dense responses once more, from their definition, in float64 and without the kernels.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "apps/compare.hpp"
#include "apps/edge/edge.hpp"

namespace penstock::apps::edge {

double relative_error(view<const float, 3> pictures, view<const float, 3> result, std::size_t angles,
                      std::size_t step) {
    const std::size_t rows = pictures.extent(1), columns = pictures.extent(2);
    std::vector<Kernel> kernels;
    for (std::size_t number = 0; number < angles; ++number)
        std::ranges::copy(turned_kernels({number, angles}), std::back_inserter(kernels));
    double largest = 0, most = 0;
    for (std::size_t p = 0; p < pictures.extent(0); ++p) {
        const auto picture = picture_of(pictures, p);
        for (std::size_t i = 0; i < rows; ++i)
            for (const float pixel : picture.row(i)) largest = std::max(largest, std::abs(static_cast<double>(pixel)));
        for (std::size_t at = 0; at < rows * columns; at += step) {
            double strongest = 0;
            for (const Kernel& kernel : kernels) {
                const auto side = static_cast<std::ptrdiff_t>(kernel.side);
                double sum = 0;
                for (std::ptrdiff_t u = 0; u < side; ++u) {
                    for (std::ptrdiff_t v = 0; v < side; ++v) {
                        const auto i = kernels::inside(static_cast<std::ptrdiff_t>(at / columns) + u - side / 2, rows,
                                                       border.rule);
                        const auto j = kernels::inside(static_cast<std::ptrdiff_t>(at % columns) + v - side / 2,
                                                       columns, border.rule);
                        sum += static_cast<double>(kernel.weights[static_cast<std::size_t>(u * side + v)]) *
                               static_cast<double>(picture(static_cast<std::size_t>(i), static_cast<std::size_t>(j)));
                    }
                }
                strongest = std::max(strongest, std::abs(sum));
            }
            most = worse(std::abs(strongest - static_cast<double>(result(p, at / columns, at % columns))), most);
        }
    }
    return largest == 0 ? most : most / largest;
}

}  // namespace penstock::apps::edge
