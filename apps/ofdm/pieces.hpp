// What the stages of the receiver hand to one another: pieces of a frame, as its samples come, each of some symbols.
// They are plain data of a fixed size, so they travel through streams as they are, and rank to rank by the stores of
// what is filled. Samples are not copied: they stay where they came, and go beside their piece.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "apps/ofdm/format.hpp"

namespace penstock::apps::ofdm {

/// What is known of a frame once its SIGNAL has been read. Goes with each of its pieces.
struct FrameHead {
    std::uint64_t number;    ///< of the frames that were found, from 0
    std::uint64_t position;  ///< in the samples: where its first long training symbol begins
    std::uint32_t size;      ///< of the transform
    std::uint32_t rate;      ///< its place in `rates`
    std::uint32_t octets;
    std::uint32_t symbols;
    float offset;  ///< of the carrier's frequency, in cycles a sample
    float snr;     ///< of the training symbols: their power over that of the noise
};

/// Which symbols a piece has. Where the first piece of a frame was lost, what the others give is wrong, and nothing
/// worse.
struct PieceHead {
    FrameHead frame;
    std::uint32_t first;
    std::uint32_t count;
    bool last() const noexcept { return first + count == frame.symbols; }
};

/// At most so many samples in a piece, without prefixes, and so many soft bits: 64 symbols of 64 at 54 Mbit/s, 128 at
/// the slower rates. So a piece is some ten microseconds of work or more, at any rate.
inline constexpr std::size_t piece_samples = 8192, piece_soft = 64 * 432;
/// With all prefixes but the first.
inline constexpr std::size_t piece_run = piece_samples / 4 * 5;
inline constexpr std::size_t most_used = 200, most_data = 192;  ///< carriers of any format

/// Symbols in a piece, at most.
inline std::size_t piece_symbols(const Format& format, const Rate& rate) noexcept {
    return std::min(piece_samples / format.size, piece_soft / (2 * format.data_bits(rate)));
}

/// Its samples are those of its symbols as they lie in the air, from behind the first one's prefix on.
struct SamplePiece {
    PieceHead head;
    std::array<Sample, most_used> channel;  ///< of each used carrier; in the first piece only
};

struct SoftPiece {
    PieceHead head;
    std::array<std::int8_t, piece_soft> soft;  ///< two for each bit of data, in the decoder's order
};

/// The bits of a frame, 64 a word, the first lowest.
using FrameBits = std::array<std::uint64_t, (service_bits + 8 * longest_frame + tail_bits + 63) / 64>;

struct Frame {
    FrameHead head;
    bool whole;  ///< its check sequence is right
    std::array<std::uint8_t, longest_frame + 1> octets;
};

}  // namespace penstock::apps::ofdm
