// From soft bits to octets: Viterbi, descrambler, check sequence.
#pragma once

#include <vector>

#include "apps/ofdm/pieces.hpp"
#include "kernels/viterbi.hpp"

namespace penstock::apps::ofdm {

/// Decodes a frame piece by piece: when its last piece has come, only that is left to do.
class Decoder {
  public:
    explicit Decoder(const Format& format);
    /// True when the frame is complete, which `to` is then.
    bool run(const SoftPiece& from, Frame& to);

  private:
    const Format& format_;
    FrameHead frame_{};
    kernels::viterbi::Metrics metrics_{};
    std::vector<std::uint64_t> decisions_;
    FrameBits bits_{};
    std::size_t steps_ = 0;
};

/// Reads the one symbol of SIGNAL from its soft bits. False where it is none: its parity, its reserved bit, its rate or
/// its length cannot be.
bool read_signal(std::span<const std::int8_t> soft, FrameHead& head);

/// Takes the scrambler's sequence out of the bits of a frame, and compares the check sequence.
void check(const FrameHead& head, FrameBits& bits, Frame& to);

}  // namespace penstock::apps::ofdm
