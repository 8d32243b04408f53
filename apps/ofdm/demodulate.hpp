// From the samples of symbols to soft bits: transform, equaliser and pilots; then soft bits in the decoder's order.
#pragma once

#include <vector>

#include "apps/ofdm/pieces.hpp"

namespace penstock::apps::ofdm {

/// A factor for each sample of a symbol that takes out an offset of the frequency. What is left between symbols is seen
/// by the pilots, as a phase.
std::vector<Sample> against_offset(const Format& format, double cycles);

/// The number of no frame.
inline constexpr std::uint64_t none = ~std::uint64_t{0};

/// Samples to carriers. The pilots of each symbol tell its phase, and, through a loop, how the phase turns over the
/// carriers, which is how the clocks of both sides drift apart.
class Demodulator {
  public:
    explicit Demodulator(const Format& format);
    /// Pieces of one frame in their order, then those of the next.
    void run(const SamplePiece& from, CarrierPiece& to);
    /// A new frame, for callers that give its symbols themselves.
    void begin(const FrameHead& frame, const Sample* channel);
    /// `count` <= 8 symbols, `first` of them the number of the first for the pilots' polarity (SIGNAL is 0).
    void block(const Sample* samples, std::size_t count, std::size_t first, kernels::ofdm::Block to);
    std::size_t rows() const noexcept { return format_.data.size() + 1; }
    const std::array<float, most_data>& power() const noexcept { return power_; }

  private:
    void follow(kernels::ofdm::ConstBlock carriers, std::size_t count, std::size_t first);

    const Format& format_;
    std::uint64_t frame_ = none;
    std::vector<Sample> rotation_;
    std::vector<kernels::ofdm::Carrier> carriers_;  ///< from the lowest used one to the highest, the middle too
    std::vector<kernels::ofdm::Carrier> pilots_;
    std::array<float, most_data> power_{};
    std::vector<float> work_;
    kernels::ofdm::Block data_, scratch_;
    /// Radians a carrier, and by how much they grow from symbol to symbol
    float slope_ = 0, drift_ = 0;
    std::array<Sample, kernels::ofdm::side> turn_{}, step_{};
};

/// Carriers to soft bits.
class Demapper {
  public:
    explicit Demapper(const Format& format);
    void run(const CarrierPiece& from, SoftPiece& to);
    /// For callers that have one symbol in a block: `soft` gets two for each bit of data.
    void symbol(kernels::ofdm::ConstBlock carriers, const std::array<float, most_data>& power, const Rate& rate,
                std::int8_t* soft);

  private:
    void begin(const Rate& rate, const std::array<float, most_data>& power);
    void block(kernels::ofdm::ConstBlock carriers, std::size_t count, std::int8_t* soft);

    const Format& format_;
    std::uint64_t frame_ = none;
    const Rate* rate_ = nullptr;
    std::array<std::vector<std::uint16_t>, rates.size()> places_;
    std::array<float, most_data> unit_{};
    float scale_ = 0;
    std::vector<std::int8_t> work_;
};

}  // namespace penstock::apps::ofdm
