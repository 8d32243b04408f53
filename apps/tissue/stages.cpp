#include "apps/tissue/stages.hpp"

#include <algorithm>

#include "components/files/picture_file.hpp"
#include "kernels/local_binary_pattern.hpp"
#include "kernels/moments.hpp"

namespace penstock::apps::tissue {

void TileDecoder::decode(std::span<const std::uint8_t> tile,
                         const std::function<view<std::uint8_t, 2>(PictureSize)>& room) {
    constexpr std::array<std::uint8_t, 2> soi{0xff, 0xd8};
    if (tile.size() >= 2 && std::ranges::equal(tile.first(2), soi)) return jpeg_.decode(tile, room);
    components::decode_tiff(tile, std::size_t{1} << 28, [&](components::PictureShape shape) {
        return room({.rows = shape.rows, .columns = shape.columns});
    });
}

void colour_features_of(view<const std::uint8_t, 2> rgb, Scratch<float>& scratch, std::span<double> colour) {
    lab_and_features_of(rgb, scratch.shaped(rgb.extent(0), rgb.extent(1)), colour);
}

void lab_and_features_of(view<const std::uint8_t, 2> rgb, view<float, 2> lab, std::span<double> colour) {
    kernels::ChannelStatistics statistics;
    kernels::rgb_to_lab_with_statistics(rgb, lab, {&statistics, 1});
    const auto moments = kernels::moments(lab, statistics);
    for (std::size_t c = 0; c < 3; ++c) {
        colour[4 * c] = moments.mean[c];
        colour[4 * c + 1] = moments.deviation[c];
        colour[4 * c + 2] = moments.skewness[c];
        colour[4 * c + 3] = moments.kurtosis[c];
    }
}

void grey_of(view<const std::uint8_t, 2> rgb, view<std::uint8_t, 2> grey) {
    for (std::size_t i = 0; i < grey.extent(0); ++i) {
        const std::uint8_t* from = rgb.row(i).data();
        for (std::uint8_t& pixel : grey.row(i)) {
            pixel = static_cast<std::uint8_t>((19595u * from[0] + 38470u * from[1] + 7471u * from[2] + 32768u) >> 16);
            from += 3;
        }
    }
}

void luminance_of(view<const float, 2> lab, view<std::uint8_t, 2> luminance) {
    for (std::size_t i = 0; i < luminance.extent(0); ++i) {
        const float* from = lab.row(i).data();
        for (std::uint8_t& pixel : luminance.row(i)) {
            pixel = static_cast<std::uint8_t>(std::clamp(*from * (255.0f / 100.0f) + 0.5f, 0.0f, 255.0f));
            from += 3;
        }
    }
}

namespace {

/// Of a tile whose brightness lies in the scratch.
void shares_of_patterns(view<const std::uint8_t, 2> brightness, PatternScratch& scratch, std::span<double> shares) {
    const std::size_t rows = brightness.extent(0), columns = brightness.extent(1);
    const auto codes = scratch.codes.shaped(rows, columns);
    kernels::local_binary_pattern<std::uint8_t>(brightness, codes, kernels::PatternCode::uniform);
    // equal codes in a row do not wait for one another
    std::array<std::array<std::uint32_t, pattern_features>, 4> counts{};
    for (std::size_t i = 0; i < rows; ++i) {
        const auto row = codes.row(i);
        for (std::size_t j = 0; j < columns; ++j) ++counts[j % counts.size()][row[j]];
    }
    for (std::size_t k = 0; k < pattern_features; ++k)
        shares[k] = static_cast<double>(counts[0][k] + counts[1][k] + counts[2][k] + counts[3][k]) /
                    static_cast<double>(rows * columns);
}

}  // namespace

void pattern_features_of(view<const std::uint8_t, 2> rgb, PatternScratch& scratch, std::span<double> shares) {
    const auto grey = scratch.grey.shaped(rgb.extent(0), rgb.extent(1) / 3);
    grey_of(rgb, grey);
    shares_of_patterns(grey, scratch, shares);
}

void luminance_features_of(view<const float, 2> lab, PatternScratch& scratch, std::span<double> shares) {
    const auto luminance = scratch.grey.shaped(lab.extent(0), lab.extent(1) / 3);
    luminance_of(lab, luminance);
    shares_of_patterns(luminance, scratch, shares);
}

void shrink(view<const std::uint8_t, 2> rgb, view<std::uint8_t, 2> small) {
    for (std::size_t i = 0; i < small.extent(0); ++i) {
        const std::size_t rows = std::min(shrinking, rgb.extent(0) - shrinking * i);
        for (std::size_t j = 0; j < small.extent(1) / 3; ++j) {
            const std::size_t columns = std::min(shrinking, rgb.extent(1) / 3 - shrinking * j);
            std::array<unsigned, 3> sums{};
            for (std::size_t v = 0; v < rows; ++v) {
                const std::uint8_t* from = rgb.row(shrinking * i + v).data() + 3 * shrinking * j;
                for (std::size_t u = 0; u < columns; ++u, from += 3)
                    for (std::size_t c = 0; c < 3; ++c) sums[c] += from[c];
            }
            const auto pixels = static_cast<unsigned>(rows * columns);
            for (std::size_t c = 0; c < 3; ++c)
                small(i, 3 * j + c) = static_cast<std::uint8_t>((sums[c] + pixels / 2) / pixels);
        }
    }
}

namespace {

view<std::uint8_t, 2> place_of(const Tile& tile, const Picture& overview) {
    return overview.all().part({tile.row / shrinking, 3 * (tile.column / shrinking)},
                               {shrunk(tile.rows), 3 * shrunk(tile.columns)});
}

}  // namespace

void draw_tile(const Tile& tile, view<const std::uint8_t, 2> small, const Picture& overview) {
    const auto to = place_of(tile, overview);
    for (std::size_t i = 0; i < to.extent(0); ++i) std::copy_n(small.row(i).data(), to.extent(1), to.row(i).data());
}

void draw_class(const Tile& tile, std::uint32_t of_class, const Picture& overview) {
    static constexpr std::array<std::array<std::uint8_t, 3>, classes> colours{
        {{160, 160, 160}, {30, 80, 220}, {230, 110, 0}}};
    const auto to = place_of(tile, overview);
    const auto dot = [&](std::size_t i, std::size_t j) {
        for (std::size_t c = 0; c < 3; ++c) to(i, 3 * j + c) = colours[of_class][c];
    };
    const std::size_t rows = to.extent(0), columns = to.extent(1) / 3;
    for (std::size_t i = 0; i < rows; ++i) dot(i, 0), dot(i, columns - 1);
    for (std::size_t j = 0; j < columns; ++j) dot(0, j), dot(rows - 1, j);
}

view<const std::uint8_t, 2> decoded_tile(const Slide& slide, std::size_t number, TileScratch& scratch) {
    if (slide.decoded()) return slide.pixels(number);
    const Tile tile = slide.tiling()[number];
    const auto rgb = scratch.rgb.shaped(tile.rows, 3 * tile.columns);
    scratch.decoder.decode(slide.encoded(number), [&](PictureSize) { return rgb; });
    return rgb;
}

void analyse_tile(const Slide& slide, std::size_t number, TileScratch& scratch, Analysis& analysis) {
    const auto rgb = decoded_tile(slide, number, scratch);
    Features& found = analysis.features[number];
    colour_features_of(rgb, scratch.lab, std::span(found).first(colour_features));
    pattern_features_of(rgb, scratch.pattern, std::span(found).last(pattern_features));
    finish_tile(slide, number, rgb, scratch.small, analysis);
}

void finish_tile(const Slide& slide, std::size_t number, view<const std::uint8_t, 2> rgb, Scratch<std::uint8_t>& memory,
                 Analysis& analysis) {
    const Tile tile = slide.tiling()[number];
    const auto small = memory.shaped(shrunk(tile.rows), 3 * shrunk(tile.columns));
    analysis.classes[number] = trained_classifier().classify(analysis.features[number]);
    shrink(rgb, small);
    draw_tile(tile, small, analysis.overview);
    draw_class(tile, analysis.classes[number], analysis.overview);
}

}  // namespace penstock::apps::tissue
