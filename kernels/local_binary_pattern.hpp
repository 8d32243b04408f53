// Local binary patterns: which of a pixel's 8 neighbours on a circle are as bright as it is (Ojala, Pietikainen and
// Maenpaa, IEEE PAMI 24(7), 2002).
#pragma once

#include <cstdint>

#include "kernels/tile.hpp"
#include "penstock/view.hpp"

namespace penstock::kernels {

/// pattern: bit k is set when neighbour k is not darker than the pixel, 0 to the right and then anticlockwise. uniform:
/// how many are not, 0 to 8, where they lie side by side (at most two changes from bit 0 to bit 7), and 9 for every
/// other pattern.
enum class PatternCode { pattern, uniform };

/// Codes for the tile of out's shape at `at` of the window, for T = std::uint8_t and float. The neighbours lie at
/// distance 1; the four diagonal ones at 0.70711 rows and columns, bilinearly interpolated in double precision, with
/// the operations and the roundings of skimage.feature.local_binary_pattern(image, 8, 1), whose codes these are, bit
/// for bit. Its rounding depends on how far a pixel is from the image's first: for a window that is only a part,
/// `origin` says where it begins in the image. Outside of the image scikit-image takes 0, as the border does that is
/// taken when none is given. Throws std::invalid_argument.
template <class T>
void local_binary_pattern(view<const T, 2> window, view<std::uint8_t, 2> out, PatternCode code = PatternCode::pattern,
                          Place at = {}, Border<T> border = {Outside::constant, T{}}, Place origin = {});

}  // namespace penstock::kernels
