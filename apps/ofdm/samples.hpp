// Where samples come from and go to: files as GNU Radio, SoX and radio programs write them, and sockets.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/ofdm/format.hpp"
#include "penstock/detail/machine/owned_descriptor.hpp"
#include "penstock/error.hpp"

namespace penstock::apps::ofdm {

/// Samples that cannot be read: what() names the source, what is wrong there, and what to do.
class BadSamples : public UsageError {
  public:
    BadSamples(std::string source, const std::string& what)
        : UsageError("ofdm: " + source + ": " + what), source_{std::move(source)} {}
    const std::string& source() const noexcept { return source_; }

  private:
    std::string source_;
};

/// How a sample lies in a file, lowest byte first, the real part before the imaginary one.
enum class SampleType : std::uint8_t {
    float32,  ///< "cf32": two floats, as GNU Radio's file sink writes complex numbers
    int16,    ///< "cs16": two integers, 32768 for 1
    uint8,    ///< "cu8": two bytes around 127.5, as cheap receivers for television give them
};
/// Of a file by its name, "cf32", "cs16" or "cu8"; "wav" is none of them, because a WAV file says it itself. Throws
/// UsageError.
SampleType sample_type(const std::string& name);

/// Reads samples, in portions. A source is the path of a file or FIFO, "tcp:HOST:PORT", which is connected to, or
/// "listen:PORT", which takes one connection. `format` is a name as above, "wav", or "auto", which goes by the ending
/// of the name: .wav; .cf32, .fc32, .cfile, .iq; .cs16, .sc16; .cu8. Sockets are cf32 then.
class SampleReader {
  public:
    /// Throws SystemError where it cannot be opened; BadSamples for a file that does not hold whole samples, whose
    /// header is not what it should be, or that ends before its header says, for a name without a known ending, and for
    /// an address that is none.
    explicit SampleReader(const std::string& source, const std::string& format = "auto");

    /// Up to so many, as they come. None: it has ended, or, where ended() is false, nothing has come for a twentieth of
    /// a second. Throws SystemError, BadSamples for what is no number and for an end inside a sample.
    std::size_t read(std::span<Sample> to);
    bool ended() const noexcept { return ended_; }

  private:
    void open_file();
    void read_wav_header();
    void open_socket();
    void need_whole_samples() const;
    std::size_t convert(std::span<Sample> to);

    std::string source_;
    SampleType type_ = SampleType::float32;
    OwnedDescriptor descriptor_, listening_;
    bool ended_ = false;
    std::uint64_t left_ = ~std::uint64_t{0};  ///< bytes that are samples, where a header says so
    std::uint64_t position_ = 0;
    std::vector<std::byte> bytes_;  ///< read and not yet converted
};

/// All of a file. Throws as SampleReader, and BadSamples for more than `most` samples.
std::vector<Sample> read_samples(const std::string& path, const std::string& format = "auto",
                                 std::size_t most = std::size_t{1} << 28);

/// Throws SystemError where it cannot be written, UsageError for a format that is none ("auto" goes by the ending).
void write_samples(const std::string& path, std::span<const Sample> samples, const std::string& format = "auto");

}  // namespace penstock::apps::ofdm
