// Films in memory: given, read from a file, or made from a photograph by motion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/h264/sequence.hpp"
#include "penstock/view.hpp"

namespace penstock::apps::h264 {

struct Clip {
    Size size;
    Rate rate;
    std::vector<std::uint8_t> pictures;  ///< one after the other, as files have them
    std::size_t count() const noexcept { return pictures.size() / size.bytes(); }
    std::span<const std::uint8_t> picture(std::size_t i) const noexcept {
        return std::span{pictures}.subspan(i * size.bytes(), size.bytes());
    }
};

/// A window that moves and grows over a photograph (rows x 3 columns, red, green and blue, not empty), by parts of
/// pixels, with a smaller one that moves its own way in front of it, and a little noise.
Clip made_clip(view<const std::uint8_t, 2> photograph, Size size, std::size_t count, std::uint32_t seed);
/// The same of a made photograph.
Clip made_clip(Size size, std::size_t count, std::uint32_t seed);
/// At most so many pictures of a file. Throws as FilmReader.
Clip read_clip(const std::string& path, std::size_t most, Size raw_size);

/// What came out of an encoder.
struct Stream {
    std::vector<std::uint8_t> bytes;    ///< as annex B has it: units behind start codes
    std::vector<std::uint8_t> decoded;  ///< the pictures as a decoder has them, where they were asked for
    std::vector<std::size_t> sizes;     ///< of each picture, in the order in which they are shown
    void take(const Encoded& picture);
};

/// One after the other, as Job::pull.
std::function<bool(std::vector<std::uint8_t>&)> pictures_of(std::shared_ptr<const Clip> clip);

/// A job that reads the clip and fills the stream. Both must outlive it.
Job job_of(const Clip& clip, const EncoderSettings& settings, Stream& stream, bool keep_decoded);

/// Peak signal-to-noise ratio of luminance, in dB, over all pictures; infinite where they are the same.
double luma_psnr(const Clip& clip, std::span<const std::uint8_t> decoded);

}  // namespace penstock::apps::h264
