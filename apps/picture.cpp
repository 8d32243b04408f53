#include "apps/picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "apps/random.hpp"
#include "kernels/tile.hpp"

namespace penstock::apps {

Picture mirrored(view<const std::uint8_t, 2> rgb, std::size_t rows, std::size_t columns) {
    Picture made{rows, columns};
    const auto rule = kernels::Outside::reflect101;
    for (std::size_t i = 0; i < rows; ++i) {
        const auto from =
            rgb.row(static_cast<std::size_t>(kernels::inside(static_cast<std::ptrdiff_t>(i), rgb.extent(0), rule)));
        const auto to = made.all().row(i);
        for (std::size_t j = 0; j < columns; ++j) {
            const auto at =
                static_cast<std::size_t>(kernels::inside(static_cast<std::ptrdiff_t>(j), rgb.extent(1) / 3, rule));
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(3 * at), 3,
                        to.begin() + static_cast<std::ptrdiff_t>(3 * j));
        }
    }
    return made;
}

Picture spots(std::size_t rows, std::size_t columns, std::uint32_t seed) {
    struct Spot {
        double row, column, size;
        std::array<double, 3> takes;  // of the light
    };
    Random random{seed};
    constexpr std::size_t period = 256;  // the spots repeat, so that a large picture costs no more a pixel
    constexpr std::array<double, 3> blue{110, 100, 40}, brown{90, 130, 150};
    std::vector<Spot> all(24);
    for (Spot& spot : all) {
        const bool is_brown = random.integer() % 3 == 0;
        spot = {random.real() * period, random.real() * period, 6 + 18 * random.real(), is_brown ? brown : blue};
    }
    std::vector<std::array<double, 3>> light(period * period);
    for (std::size_t i = 0; i < light.size(); ++i) {
        light[i] = {235, 228, 232};
        for (const Spot& spot : all) {
            const double down = static_cast<double>(i / period) - spot.row,
                         right = static_cast<double>(i % period) - spot.column;
            const double share = std::exp(-(down * down + right * right) / (spot.size * spot.size));
            for (std::size_t c = 0; c < 3; ++c) light[i][c] -= share * spot.takes[c];
        }
    }
    Picture made{rows, columns};
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
            const auto& here = light[i % period * period + j % period];
            const double noise = 12 * random.real() - 6;
            for (std::size_t c = 0; c < 3; ++c)
                made.all()(i, 3 * j + c) = static_cast<std::uint8_t>(std::clamp(here[c] + noise, 0.0, 255.0));
        }
    }
    return made;
}

Picture picture_of(const std::string& app, const Settings& settings) {
    const auto* const given = given_input<std::uint8_t>(app, settings, "image", {0, 0, 3});
    if (given == nullptr) return spots(settings.rows, settings.columns, settings.seed);
    const Array& input = *std::find_if(settings.inputs.begin(), settings.inputs.end(),
                                       [](const Array& array) { return array.name == "image"; });
    return mirrored({given->data(), {input.shape[0], 3 * input.shape[1]}}, settings.rows, settings.columns);
}

}  // namespace penstock::apps
