// What the stages of the receiver hand to one another: pieces of a frame, as its samples come, each of some symbols.
// They are plain data of a fixed size, so they travel through streams as they are, and rank to rank by the stores of
// what is filled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "apps/ofdm/format.hpp"
#include "kernels/ofdm.hpp"

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

/// At most so many samples in a piece, without prefixes: 32 symbols of 64, 8 of 256.
inline constexpr std::size_t piece_samples = 2048;
inline constexpr std::size_t most_used = 200, most_data = 192;  ///< carriers of any format
/// Blocks of eight symbols, each with a row for each data carrier and one that nobody reads.
inline constexpr std::size_t piece_carriers = piece_samples / 64 / kernels::ofdm::side * (48 + 1) * kernels::ofdm::side;
inline constexpr std::size_t piece_soft = piece_samples / 64 * 48 * 6 / 3 * 4 * 9 / 8;  ///< at 64-QAM, rate 3/4
static_assert(piece_soft >= 32 * 432 && piece_soft >= 8 * 1728);

struct SamplePiece {
    PieceHead head;
    std::array<Sample, most_used> channel;      ///< of each used carrier; in the first piece only
    std::array<Sample, piece_samples> samples;  ///< of each symbol, without its prefix
};

struct CarrierPiece {
    PieceHead head;
    std::array<float, most_data> power;  ///< of the channel at each data carrier; in the first piece only
    /// In blocks of eight symbols (kernels/ofdm.hpp), turned upright; each is multiplied by the power of its channel
    std::array<float, piece_carriers> re, im;
};

struct SoftPiece {
    PieceHead head;
    std::array<std::int8_t, piece_soft> soft;  ///< two for each bit of data, in the decoder's order
};

/// The bits of a frame as they were scrambled.
struct DecodedFrame {
    FrameHead head;
    std::array<std::uint64_t, (service_bits + 8 * longest_frame + tail_bits + 63) / 64> bits;
};

struct Frame {
    FrameHead head;
    bool whole;  ///< its check sequence is right
    std::array<std::uint8_t, longest_frame + 1> octets;
};

}  // namespace penstock::apps::ofdm
