// Finds frames in a stream of samples: the short training by its period, the long training by its shape; the offset of
// the frequency and the channel from both; then SIGNAL, and with it how many symbols there are. Behind a frame the
// search goes on.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "apps/ofdm/demodulate.hpp"

namespace penstock::apps::ofdm {

/// What became of the samples.
struct SynchroniserCounts {
    std::uint64_t samples = 0;
    std::uint64_t trainings = 0;  ///< something with the period of a short training
    std::uint64_t refused = 0;    ///< of these, those without a long training or a SIGNAL that can be
    std::uint64_t frames = 0;     ///< those with both
    std::uint64_t complete = 0;   ///< of these, those whose samples all came
    std::uint64_t cut = 0;        ///< frames that the samples end in
};

/// Samples come in any portions; the same samples give the same frames, however they are cut. They are read where they
/// are: only those that the next portion is needed for are copied.
///
///     synchroniser.push(samples);
///     while (!(symbols = synchroniser.next(piece)).empty()) ...
class Synchroniser {
  public:
    explicit Synchroniser(const Format& format);

    /// They stay as they are until next() has given nothing, or the next push().
    void push(std::span<const Sample> samples);
    /// Finds the next piece of a frame in what was pushed, and gives its samples, which stay until the next call: some
    /// of those that were pushed, or a copy. Nothing when more samples are needed.
    std::span<const Sample> next(SamplePiece& piece);
    /// No more samples come. True when a frame was under way, which is then cut.
    bool end();
    /// Another stream begins.
    void restart();
    const SynchroniserCounts& counts() const noexcept { return counts_; }

  private:
    enum class State { searching, training, signal, data };
    static constexpr std::size_t window = 6;  ///< quarters of a symbol over which a period is looked for

    std::size_t quarter() const noexcept { return format_.size / 4; }
    bool have(std::size_t from, std::size_t count) const noexcept { return from + count <= view_.size(); }
    bool search();
    bool find_training();
    bool read_signal();
    std::span<const Sample> give(SamplePiece& piece);
    void resume(std::size_t at);
    std::size_t still_needed() const noexcept;
    void move(std::span<const Sample> view, std::size_t from);
    bool lengthen();
    void keep();

    const Format& format_;
    Demodulator demodulator_;
    Demapper demapper_;
    /// What is looked at: `kept_`, or all of `pushed_`.
    std::span<const Sample> view_;
    std::uint64_t position_ = 0;  ///< of the first of them in the stream
    State state_ = State::searching;
    std::size_t at_ = 0;  ///< what is looked at next, in the view
    /// Of earlier portions what is still needed, and `copied_` of those that were pushed last.
    std::vector<Sample> kept_;
    std::span<const Sample> pushed_;
    std::size_t copied_ = 0;
    std::array<kernels::ofdm::Correlation, window> quarters_{};
    std::size_t seen_ = 0, above_ = 0;
    kernels::ofdm::Correlation best_{};
    FrameHead frame_{};
    std::uint32_t given_ = 0;
    std::array<Sample, most_used> channel_{};
    std::vector<float> work_;
    std::vector<Sample> shape_;
    SynchroniserCounts counts_;
};

}  // namespace penstock::apps::ofdm
