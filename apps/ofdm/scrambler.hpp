// The scrambler of IEEE 802.11: the bits of a sequence with a period of 127, by x^7 + x^4 + 1, are added to those of
// the data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::apps::ofdm {

class Scrambler {
  public:
    static constexpr std::size_t period = 127;

    /// `state`: the last seven bits, the newest lowest; not 0.
    explicit Scrambler(unsigned state) noexcept : state_{state & 127} {}

    bool next() noexcept {
        const unsigned bit = (state_ >> 6 ^ state_ >> 3) & 1;
        state_ = (state_ << 1 | bit) & 127;
        return bit != 0;
    }

  private:
    unsigned state_;
};

/// Adds the sequence to all bits, 64 a word, the first lowest. A frame is scrambled so, and the first seven bits, which
/// were zero, tell the receiver the sequence: descramble() goes on from them. 0 there cannot be, and changes nothing.
void scramble(std::span<std::uint64_t> bits, unsigned state) noexcept;
void descramble(std::span<std::uint64_t> bits) noexcept;

}  // namespace penstock::apps::ofdm
