// From the samples of symbols to soft bits: transform, equaliser and pilots; then soft bits in the decoder's order.
#pragma once

#include <vector>

#include "apps/ofdm/pieces.hpp"
#include "kernels/ofdm.hpp"

namespace penstock::apps::ofdm {

/// A factor for each sample of a symbol that takes out an offset of the frequency. What is left between symbols is seen
/// by the pilots, as a phase.
std::vector<Sample> against_offset(const Format& format, double cycles);

/// Room for blocks.
struct alignas(32) Row {
    float of[kernels::ofdm::side];
};
using Rows = std::vector<Row>;

/// The number of no frame.
inline constexpr std::uint64_t none = ~std::uint64_t{0};

/// Samples to carriers. The pilots of each symbol tell its phase, and, through a loop, how the phase turns over the
/// carriers, which is how the clocks of both sides drift apart.
class Demodulator {
  public:
    explicit Demodulator(const Format& format);
    /// A new frame. `channel`: of each used carrier.
    void begin(const FrameHead& frame, const Sample* channel);
    /// `count` <= 8 symbols as they lie in the air, from behind the first one's prefix on. `first`: the number of the
    /// first for the pilots' polarity (SIGNAL is 0).
    void block(const Sample* samples, std::size_t count, std::size_t first, kernels::ofdm::Block to);
    /// Of what block() makes: one for each data carrier, and one that nobody reads.
    std::size_t rows() const noexcept { return format_.data.size() + 1; }
    /// Of the channel at each data carrier, by which block() has multiplied it.
    const std::array<float, most_data>& power() const noexcept { return power_; }

  private:
    void follow(kernels::ofdm::ConstBlock carriers, std::size_t count, std::size_t first);

    const Format& format_;
    std::vector<Sample> rotation_;
    std::vector<kernels::ofdm::Carrier> carriers_;  ///< from the lowest used one to the highest, the middle too
    std::vector<kernels::ofdm::Carrier> pilots_;
    std::array<float, most_data> power_{};
    Rows work_;
    kernels::ofdm::Block data_, scratch_;
    /// Radians a carrier, and by how much they grow from symbol to symbol
    float slope_ = 0, drift_ = 0;
    std::array<Sample, kernels::ofdm::side> turn_{}, step_{};
};

/// Carriers to soft bits.
class Demapper {
  public:
    explicit Demapper(const Format& format);
    /// A new frame, with the channel that it came through.
    void begin(const Rate& rate, const std::array<float, most_data>& power);
    /// Of `count` symbols; `soft` gets two for each bit of data.
    void block(kernels::ofdm::ConstBlock carriers, std::size_t count, std::int8_t* soft);

  private:
    const Format& format_;
    const Rate* rate_ = nullptr;
    std::array<std::vector<std::uint16_t>, rates.size()> places_;
    std::array<float, most_data> unit_{};
    float scale_ = 0;
    std::vector<std::int8_t> work_;
};

/// Both.
class SoftDemodulator {
  public:
    explicit SoftDemodulator(const Format& format);
    /// Pieces of one frame in their order, then those of the next.
    void run(const SamplePiece& from, std::span<const Sample> samples, SoftPiece& to);

  private:
    const Format& format_;
    std::uint64_t frame_ = none;
    Demodulator demodulator_;
    Demapper demapper_;
    Rows carriers_;
};

}  // namespace penstock::apps::ofdm
