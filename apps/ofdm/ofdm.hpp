// An OFDM receiver, an application of the paper on remote stores (RSP, section 4.4): samples in, frames out, in
// the format of IEEE 802.11a and g (format.hpp). On one thread (receiver.hpp), over ranks, and as a graph of filters:
//
//     read -> gain -> channel -> synchronise -> demodulate -> decode -> collect
//
// A frame goes from stage to stage in pieces, while its samples come. All pieces of a frame go through the same copy of
// a filter, or the same ranks; `collect` puts the frames back into their order. Every form gives the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "apps/ofdm/channel.hpp"
#include "apps/ofdm/pieces.hpp"
#include "apps/ranks.hpp"
#include "apps/report.hpp"
#include "apps/shared_array.hpp"

namespace penstock {
class Components;
class Machine;
}  // namespace penstock

namespace penstock::apps::ofdm {

/// How ranks share the work. Rank 0 has the samples and synchronises.
enum class Variant : std::uint8_t {
    shared,  ///< frames are told in one global array; who is free takes the next, and loads its samples
    stages,  ///< rank 0 demodulates, too, and stores soft bits to the others, which decode
    push,    ///< rank 0 stores the samples of frames to the others, which demodulate and decode
};
inline constexpr Variant variants[] = {Variant::shared, Variant::stages, Variant::push};
/// The word for it in reports.
std::string_view name(Variant variant) noexcept;

/// Samples, and room for the frames in them.
struct Problem {
    /// `frames`: at most so many are kept.
    Problem(const Format& of, std::span<const Sample> signal, std::size_t frames);

    const Format& format;
    SharedArray<Sample> samples;
    SharedArray<Frame> frames;         ///< by their number
    SharedArray<std::uint64_t> found;  ///< how many there are; one element
    std::size_t count;                 ///< of the samples
};

/// Samples go to the synchroniser in portions of so many.
inline constexpr std::size_t usual_portion = 16384;

/// One thread, into `problem`.
void serial(const Problem& problem);
/// By ranks. Returns seconds. In `stages` and `push` rank 0 decodes a frame itself when the others have no room. Throws
/// as spmd().
double parallel(const Problem& problem, Variant variant, const RankOptions& options);
/// By the graph, with so many copies of each filter between `synchronise` and `collect`.
void streamed(const Problem& problem, Machine& machine, int copies, std::size_t portion = usual_portion);
/// The same by the graph as it is written down, ofdm.xml.
void written(const Problem& problem, Machine& machine, int copies);

/// Frames of random octets, with silence of random lengths between and around them, through a channel. What was sent
/// goes to `sent`, where that is given.
struct MadeSignal {
    std::size_t frames = 64, octets = 1000;
    int megabits = 54;
    std::uint32_t seed = 1;
    ChannelModel channel = {};
};
std::vector<Sample> made_signal(const Format& format, const MadeSignal& made,
                                std::vector<std::vector<std::uint8_t>>* sent = nullptr);

/// The filters by name, for ofdm.xml: with files at the ends, or with the program's memory.
void add_components(Components& components);
void add_components(Components& components, const Problem& problem);

/// The application for the gallery. Settings: rows (64) frames of columns (1000) octets at block_rows (54) Mbit/s, with
/// a transform of block_columns (64, or 256); seed. Texts: input (a file of samples, in the place of a made signal) and
/// format; output (a capture of the frames, .pcap); snr, offset, echoes of the made signal's channel; samples_a_second.
/// Input "samples" (n, complex64). Arrays kept: "samples", "result" (octets of all frames, uint8), "starts" (of each
/// frame there, and the end), "whole" (of each frame 1 or 0, uint8), "carriers" (of the first 64 symbols, complex64).
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::ofdm
