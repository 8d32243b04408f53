// Writes the levels of a block (CAVLC, 9.2).
#pragma once

#include <array>
#include <cstdint>

#include "apps/h264/bits.hpp"
#include "apps/h264/macroblock.hpp"

namespace penstock::apps::h264 {

/// Levels in the order in which they are written, the lowest frequency first, with a bit for each that is not 0.
struct Scanned {
    std::array<Coefficient, 16> levels{};
    std::uint32_t found = 0;
    int length = 16;  ///< 16; 15 without the first, 4 of the first coefficients of a colour
};

/// The block of a strip. `found`: the strip's bits of this block. Without the first coefficient: length 15.
Scanned scan(const Strip& strip, int block, std::uint32_t found, bool without_first) noexcept;
/// The same of the first coefficients of blocks, which lie by rows of blocks.
Scanned scan(const std::array<Coefficient, 16>& first) noexcept;
Scanned scan(const std::array<Coefficient, 4>& first) noexcept;
/// Where the coefficient at this place of a strip comes in the order in which it is written.
int place_in_order(int place_in_strip) noexcept;

/// `expected`: number of levels that is expected of the block. `chroma_first`: the four first coefficients of a colour.
void put_levels(Bits& bits, const Scanned& block, int expected);
void put_chroma_first(Bits& bits, const Scanned& block);

/// No level beyond it can be written in Baseline and Main.
inline constexpr int greatest_level = 2047;

}  // namespace penstock::apps::h264
