// Sounds in RIFF WAVE files: whole numbers of 8, 16, 24 and 32 bits, and floats of 32 and 64.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::components {

struct WavFormat {
    std::size_t channels = 1, rate = 44100, bytes = 2;  ///< of a sample of one channel
    bool floats = false;
    std::size_t frame() const noexcept { return channels * bytes; }
};

struct Wav {
    WavFormat format;
    std::string_view samples;  ///< whole frames
};

/// Throws UsageError, with the path.
Wav parsed_wav(std::string_view file, const std::string& path);

/// to := samples between -1 and 1. As many as `to` has room for.
void samples_of(std::string_view from, const WavFormat& format, std::span<float> to);
/// The bytes of samples, cut off at -1 and 1.
std::vector<std::byte> bytes_of(std::span<const float> samples, const WavFormat& format);

/// What stands before so many bytes of samples.
std::string wav_head(const WavFormat& format, std::size_t bytes);
inline constexpr std::size_t wav_head_bytes = 44;

}  // namespace penstock::components
