// What a radio channel does to a signal: echoes, an offset of the carrier's frequency, a gain, noise.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "apps/ofdm/format.hpp"

namespace penstock::apps::ofdm {

struct ChannelModel {
    double gain = 1;
    double offset = 0;  ///< of the frequency, in cycles a sample: 0.001 are 20 kHz at 20 million samples a second
    int echoes = 0;     ///< besides the direct path; each is a sample later and, in the mean, 3 dB weaker
    double noise = 0;   ///< its power a sample, both parts together
    std::uint32_t seed = 1;
};

/// A channel that samples go through in any pieces. The same seed gives the same samples.
class Channel {
  public:
    explicit Channel(const ChannelModel& model);
    /// From the next sample on. Echoes of what went through before still come.
    void change(const ChannelModel& model);
    const ChannelModel& model() const noexcept { return model_; }

    void pass(std::span<const Sample> from, std::span<Sample> to);

  private:
    void draw_echoes();

    ChannelModel model_;
    std::mt19937_64 random_;
    std::normal_distribution<float> normal_;
    std::vector<Sample> taps_, past_;
    double phase_ = 0;  ///< in cycles
};

/// The noise that makes this ratio, in dB, of the power of a frame's symbols to it.
double noise_for(const Format& format, double decibels);

}  // namespace penstock::apps::ofdm
