// Frames that were received, as a file that Wireshark, tcpdump and others read: pcap, each frame behind a radiotap
// header.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "apps/ofdm/pieces.hpp"

namespace penstock::apps::ofdm {

class Capture {
  public:
    /// `samples_a_second` makes times of positions. Throws SystemError.
    Capture(const std::string& path, double samples_a_second);
    /// Throws SystemError.
    void add(const Frame& frame);
    /// What add() wrote is in the file. Throws SystemError.
    void flush();

  private:
    void write(const void* bytes, std::size_t count);

    std::string path_;
    double samples_a_second_;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace penstock::apps::ofdm
