// The transmitter: what a receiver is tested with, and what makes signals for others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/ofdm/coding.hpp"
#include "apps/ofdm/format.hpp"

namespace penstock::apps::ofdm {

/// What is sent, step by step (IEEE 802.11, the example of a frame in its annex, follows the same).
Bits signal_field(const Rate& rate, std::size_t octets);  ///< its 24 bits
Bits data_field(const Format& format, const Rate& rate, std::span<const std::uint8_t> octets, unsigned scrambler);
/// The carriers of each symbol, as they are transformed: pilots in, rows of the transform.
std::vector<Sample> carriers_of(const Format& format, const Rate& rate, std::span<const std::uint8_t> interleaved,
                                std::size_t first_symbol);

/// A frame: 1 to 4095 octets, whose last four are its check sequence if it is to be found whole. `scrambler` is 1 to
/// 127. Symbols go over into one another in one sample, the mean of both, so the frame is one sample longer than
/// format.samples(). Throws UsageError.
std::vector<Sample> transmit(const Format& format, const Rate& rate, std::span<const std::uint8_t> octets,
                             unsigned scrambler = 0x5d);

/// The octets with their check sequence behind them.
std::vector<std::uint8_t> with_check(std::vector<std::uint8_t> octets);

}  // namespace penstock::apps::ofdm
