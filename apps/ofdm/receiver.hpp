// The whole receiver on one thread: what every other form is compared with.
#pragma once

#include <span>
#include <utility>

#include "apps/ofdm/decode.hpp"
#include "apps/ofdm/synchronise.hpp"

namespace penstock::apps::ofdm {

class Receiver {
  public:
    explicit Receiver(const Format& format) : synchroniser_{format}, demodulator_{format}, decoder_{format} {}

    /// Calls `found` with each frame that these samples complete, whole or not.
    template <class Found>
    void push(std::span<const Sample> samples, Found&& found) {
        synchroniser_.push(samples);
        for (auto symbols = synchroniser_.next(piece_); !symbols.empty(); symbols = synchroniser_.next(piece_)) {
            demodulator_.run(piece_, symbols, soft_);
            if (decoder_.run(soft_, frame_)) found(std::as_const(frame_));
        }
    }
    bool end() { return synchroniser_.end(); }
    void restart() { synchroniser_.restart(); }
    const SynchroniserCounts& counts() const noexcept { return synchroniser_.counts(); }

  private:
    Synchroniser synchroniser_;
    SoftDemodulator demodulator_;
    Decoder decoder_;
    SamplePiece piece_;
    SoftPiece soft_;
    Frame frame_;
};

}  // namespace penstock::apps::ofdm
