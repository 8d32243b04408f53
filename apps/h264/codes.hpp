// The tables of codes of variable length (9.2).
#pragma once

#include <array>
#include <cstdint>

namespace penstock::apps::h264 {

struct Code {
    std::uint16_t bits = 0;
    std::uint8_t count = 0;
};

struct Codes {
    /// Number of levels and of trailing ones: 4 * levels + ones. By the number expected: 0 and 1, 2 and 3, 4 to 7, more
    std::array<std::array<Code, 68>, 4> totals;
    std::array<Code, 20> chroma_totals;          ///< of the four first coefficients of a colour
    std::array<std::array<Code, 16>, 15> zeros;  ///< zeros before the last level: [levels - 1][zeros]
    std::array<std::array<Code, 4>, 3> chroma_zeros;
    std::array<std::array<Code, 15>, 7> runs;     ///< zeros before a level: [zeros left - 1, at most 6][zeros]
    std::array<std::uint8_t, 48> intra_patterns;  ///< number of each coded_block_pattern
    std::array<std::uint8_t, 48> inter_patterns;
};
const Codes& codes() noexcept;

}  // namespace penstock::apps::h264
