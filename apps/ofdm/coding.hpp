// The code of a frame: convolution, puncturing, interleaving, and the check sequence behind the octets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/ofdm/format.hpp"

namespace penstock::apps::ofdm {

/// Bits one a byte, 0 or 1: what the transmitter and the tests work with.
using Bits = std::vector<std::uint8_t>;

/// Of 133 and 171 (octal), two bits for each, from state 0.
Bits convolve(std::span<const std::uint8_t> bits);

/// Leaves out what the rate does not send.
Bits puncture(std::span<const std::uint8_t> coded, const Rate& rate);

/// The bits of each symbol of so many carriers in the order in which carriers take them.
Bits interleave(std::span<const std::uint8_t> coded, std::size_t carriers, const Rate& rate);

/// Where the soft bits of a symbol go in the decoder: for each of the two bits of its steps the place among the bits of
/// the carriers, or `nowhere` where the rate does not send it.
inline constexpr std::uint16_t nowhere = 0xffff;
std::vector<std::uint16_t> deinterleaved(std::size_t carriers, const Rate& rate);

/// The check sequence of IEEE 802.3 and 802.11 over these octets (CRC-32).
std::uint32_t check_sequence(std::span<const std::uint8_t> octets) noexcept;

}  // namespace penstock::apps::ofdm
