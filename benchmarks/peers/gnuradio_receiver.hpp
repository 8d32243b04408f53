// GNU Radio's receiver for frames of IEEE 802.11a, as gr-ieee802-11 arranges it, in a program of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace bench {

struct GnuRadioReceiver {
    /// Receives what is in a file of samples (cf32) so often; nanoseconds a sample. Throws where other than so many
    /// frames came whole.
    std::function<double(const std::string& file, int passes, std::size_t frames)> samples;
    /// Nanoseconds from the last sample of a frame to its octets, the median of the file's first frames. No call of a
    /// block makes more than `items`.
    std::function<double(const std::string& file, int items, std::size_t frames)> latency;
};

/// Empty functions where GNU Radio was not found.
GnuRadioReceiver gnuradio_receiver();

}  // namespace bench
