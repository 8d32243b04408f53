// The features of a tile once more, from their definitions, in float64 and without the kernels.
#include <algorithm>
#include <cmath>

#include "apps/colour/colour.hpp"
#include "apps/compare.hpp"
#include "apps/tissue/stages.hpp"

namespace penstock::apps::tissue {
namespace {

std::array<double, colour_features> defined_colour(view<const std::uint8_t, 2> rgb) {
    std::array<double, colour_features> found{};
    std::vector<std::array<double, 3>> pixels;
    for (std::size_t i = 0; i < rgb.extent(0); ++i)
        for (std::size_t j = 0; j < rgb.extent(1); j += 3) pixels.push_back(colour::defined(rgb.row(i).data() + j));
    const auto count = static_cast<double>(pixels.size());
    for (std::size_t c = 0; c < 3; ++c) {
        double sum = 0, squares = 0, cubes = 0, fourths = 0;
        for (const auto& pixel : pixels) sum += pixel[c];
        const double mean = sum / count;
        for (const auto& pixel : pixels) {
            const double off = pixel[c] - mean;
            squares += off * off / count;
            cubes += off * off * off / count;
            fourths += off * off * off * off / count;
        }
        const bool flat = squares <= 0;
        found[4 * c] = mean;
        found[4 * c + 1] = std::sqrt(squares);
        found[4 * c + 2] = flat ? 0 : cubes / std::pow(squares, 1.5);
        found[4 * c + 3] = flat ? 0 : fourths / (squares * squares) - 3;
    }
    return found;
}

/// The pattern of a pixel: neighbours at distance 1 on a circle, bilinear between pixels, 0 outside of the tile. A
/// neighbour that lies between pixels is mixed by its place in the image, rounding included, as scikit-image does.
std::size_t defined_pattern(view<const std::uint8_t, 2> grey, std::size_t row, std::size_t column) {
    const auto pixel = [&](double r, double c) -> double {
        const bool inside =
            r >= 0 && c >= 0 && r < static_cast<double>(grey.extent(0)) && c < static_cast<double>(grey.extent(1));
        return inside ? grey(static_cast<std::size_t>(r), static_cast<std::size_t>(c)) : 0.0;
    };
    const auto mix = [](double share, double a, double b) { return (1 - share) * a + share * b; };
    constexpr double away[8][2] = {{0, 1},  {-0.70711, 0.70711}, {-1, 0}, {-0.70711, -0.70711},
                                   {0, -1}, {0.70711, -0.70711}, {1, 0},  {0.70711, 0.70711}};
    bool as_bright[8];
    for (std::size_t k = 0; k < 8; ++k) {
        const double r = static_cast<double>(row) + away[k][0], c = static_cast<double>(column) + away[k][1];
        const double top = std::floor(r), left = std::floor(c), bottom = std::ceil(r), right = std::ceil(c);
        const double value = mix(r - top, mix(c - left, pixel(top, left), pixel(top, right)),
                                 mix(c - left, pixel(bottom, left), pixel(bottom, right)));
        as_bright[k] = value >= grey(row, column);
    }
    std::size_t bright = as_bright[0], changes = 0;
    for (std::size_t k = 1; k < 8; ++k) {
        bright += as_bright[k];
        changes += as_bright[k] != as_bright[k - 1];
    }
    return changes <= 2 ? bright : 9;
}

/// `brightness_of(rgb, grey)` says of what the patterns are.
template <class Brightness>
Errors errors_against(const Slide& slide, const Analysis& analysis, std::size_t tiles, Brightness brightness_of) {
    Errors errors;
    TileDecoder decoder;
    const std::size_t step = std::max<std::size_t>(1, slide.tiling().count() / tiles);
    for (std::size_t t = 0; t < slide.tiling().count(); t += step) {
        const Tile tile = slide.tiling()[t];
        const Picture picture{tile.rows, tile.columns};
        decoder.decode(slide.encoded(t), [&](PictureSize) { return picture.all(); });
        const auto colour = defined_colour(picture.all());
        for (std::size_t f = 0; f < colour_features; ++f) {
            // A value that is off by e moves the mean and the deviation by e at most, and what is divided by deviations
            // by so many times more.
            const double unit =
                f % 4 < 2 ? 1 : (f % 4 == 2 ? 3 : 4) * (1 + std::abs(colour[f])) / std::min(1.0, colour[f - f % 4 + 1]);
            if (colour[f - f % 4 + 1] == 0 && f % 4 >= 2) continue;
            errors.colour = worse(std::abs(analysis.features[t][f] - colour[f]) / unit, errors.colour);
        }
        std::vector<std::uint8_t> pixels(tile.rows * tile.columns);
        const view<std::uint8_t, 2> grey{pixels.data(), {tile.rows, tile.columns}};
        brightness_of(picture.all(), grey);
        std::array<std::size_t, pattern_features> counts{};
        for (std::size_t i = 0; i < tile.rows; ++i)
            for (std::size_t j = 0; j < tile.columns; ++j) ++counts[defined_pattern(grey, i, j)];
        for (std::size_t k = 0; k < pattern_features; ++k)
            errors.pattern = worse(std::abs(analysis.features[t][colour_features + k] -
                                            static_cast<double>(counts[k]) / static_cast<double>(pixels.size())),
                                   errors.pattern);
    }
    return errors;
}

}  // namespace

Errors errors_of(const Slide& slide, const Analysis& analysis, std::size_t tiles) {
    return errors_against(slide, analysis, tiles, grey_of);
}

Errors published_errors_of(const Slide& slide, const Analysis& analysis, std::size_t tiles) {
    Scratch<float> scratch;
    std::array<double, colour_features> unused{};
    return errors_against(slide, analysis, tiles, [&](view<const std::uint8_t, 2> rgb, view<std::uint8_t, 2> grey) {
        const auto lab = scratch.shaped(rgb.extent(0), rgb.extent(1));
        lab_and_features_of(rgb, lab, unused);
        luminance_of(lab, grey);
    });
}

}  // namespace penstock::apps::tissue
