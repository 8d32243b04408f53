// The stages of the analysis, each a plain function of one tile: what all the ways to run it share.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "apps/tissue/tissue.hpp"
#include "penstock/view.hpp"

namespace penstock::apps::tissue {

/// Memory of a stage that grows to what the largest tile needs.
template <class T>
class Scratch {
  public:
    view<T, 2> shaped(std::size_t rows, std::size_t columns) {
        if (memory_.size() < rows * columns) memory_.resize(rows * columns);
        return {memory_.data(), {rows, columns}};
    }

  private:
    std::vector<T> memory_;
};

/// Decodes tiles of either format, told by their first bytes. One thread at a time.
class TileDecoder {
  public:
    /// Into what `room` gives for a tile of that size. Throws JpegError, components::PictureError.
    void decode(std::span<const std::uint8_t> tile, const std::function<view<std::uint8_t, 2>(PictureSize)>& room);

  private:
    JpegDecoder jpeg_;
};

/// lab := the tile in CIELAB; colour := mean, deviation, skewness, kurtosis of L*, then of a*, then of b*. All tiles
/// are rows x 3 columns.
void lab_and_features_of(view<const std::uint8_t, 2> rgb, view<float, 2> lab, std::span<double> colour);
/// The same, where nobody wants the tile in CIELAB.
void colour_features_of(view<const std::uint8_t, 2> rgb, Scratch<float>& lab, std::span<double> colour);

/// grey := (19595 R + 38470 G + 7471 B + 32768) / 65536, as Pillow makes grey pictures.
void grey_of(view<const std::uint8_t, 2> rgb, view<std::uint8_t, 2> grey);

struct PatternScratch {
    Scratch<std::uint8_t> grey, codes;
};
/// shares := how many of the tile's pixels have each of the 10 uniform local binary patterns of the grey tile.
void pattern_features_of(view<const std::uint8_t, 2> rgb, PatternScratch& scratch, std::span<double> shares);

/// luminance := L* of a tile in CIELAB in steps of 100 / 255, rounded to the nearest. In whole numbers, as
/// scikit-image advises: the patterns of equal pixels are those of their noise else.
void luminance_of(view<const float, 2> lab, view<std::uint8_t, 2> luminance);
/// shares := the same of the luminance of a tile in CIELAB.
void luminance_features_of(view<const float, 2> lab, PatternScratch& scratch, std::span<double> shares);

/// Rows or columns of the overview for so many of the picture.
constexpr std::size_t shrunk(std::size_t side) noexcept { return (side + shrinking - 1) / shrinking; }
/// small := means of boxes of 4 x 4 pixels (fewer at the right and lower edge), rounded to the nearest.
void shrink(view<const std::uint8_t, 2> rgb, view<std::uint8_t, 2> small);

/// Puts a small tile into the overview; draws a line around it in the colour of its class.
void draw_tile(const Tile& tile, view<const std::uint8_t, 2> small, const Picture& overview);
void draw_class(const Tile& tile, std::uint32_t of_class, const Picture& overview);

/// Everything for one tile.
struct TileScratch {
    TileDecoder decoder;
    Scratch<std::uint8_t> rgb, small;
    Scratch<float> lab;
    PatternScratch pattern;
};
/// The tile's pixels: the slide's own where it is decoded, else in the scratch.
view<const std::uint8_t, 2> decoded_tile(const Slide& slide, std::size_t number, TileScratch& scratch);
void analyse_tile(const Slide& slide, std::size_t number, TileScratch& scratch, Analysis& analysis);
/// What comes behind the features: the tile's class, and its place in the overview.
void finish_tile(const Slide& slide, std::size_t number, view<const std::uint8_t, 2> rgb, Scratch<std::uint8_t>& small,
                 Analysis& analysis);

}  // namespace penstock::apps::tissue
