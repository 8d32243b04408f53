// The bits of rows as bytes, on their way from one rank to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/h264/coder.hpp"

namespace penstock::apps::h264 {

/// Room for a row of so many macroblocks, each of 3200 bits or of its samples at most.
constexpr std::size_t most_row_bytes(int macroblocks) noexcept {
    return 64 + 440 * static_cast<std::size_t>(macroblocks);
}

void pack(RowBits& row, std::vector<std::uint8_t>& to);
/// Gives what lies behind the row.
std::span<const std::uint8_t> unpack(std::span<const std::uint8_t> from, RowBits& row);

}  // namespace penstock::apps::h264
