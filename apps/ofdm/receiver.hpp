// The whole receiver on one thread: what every other form is compared with.
#pragma once

#include <span>
#include <utility>

#include "apps/ofdm/decode.hpp"
#include "apps/ofdm/synchronise.hpp"

namespace penstock::apps::ofdm {

class Receiver {
  public:
    explicit Receiver(const Format& format)
        : synchroniser_{format}, demodulator_{format}, demapper_{format}, decoder_{format} {}

    /// Calls `found` with each frame that these samples complete, whole or not.
    template <class Found>
    void push(std::span<const Sample> samples, Found&& found) {
        synchroniser_.push(samples);
        while (synchroniser_.next(samples_)) {
            demodulator_.run(samples_, carriers_);
            demapper_.run(carriers_, soft_);
            if (!decoder_.run(soft_)) continue;
            decoder_.finish(decoded_);
            check(decoded_, frame_);
            found(std::as_const(frame_));
        }
    }
    bool end() { return synchroniser_.end(); }
    void restart() { synchroniser_.restart(); }
    const SynchroniserCounts& counts() const noexcept { return synchroniser_.counts(); }

  private:
    Synchroniser synchroniser_;
    Demodulator demodulator_;
    Demapper demapper_;
    Decoder decoder_;
    SamplePiece samples_;
    CarrierPiece carriers_;
    SoftPiece soft_;
    DecodedFrame decoded_;
    Frame frame_;
};

}  // namespace penstock::apps::ofdm
