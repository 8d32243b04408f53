// Films in files: pictures are read from YUV4MPEG2 (.y4m) and from raw planes (.yuv), streams are written as .264 or
// .mp4.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "apps/h264/sequence.hpp"
#include "penstock/error.hpp"

namespace penstock::apps::h264 {

/// A file that is no film, or one that cannot be encoded. The message names the file and what is wrong where.
class FilmError : public Error {
  public:
    using Error::Error;
};

/// The pictures of a file, one after the other: 8 bits, 4:2:0.
class FilmReader {
  public:
    /// A .y4m file by its header; any other is raw planes of `raw_size`. Throws SystemError when it cannot be read,
    /// FilmError for what is wrong in it, UsageError for raw planes without a size.
    explicit FilmReader(const std::string& path, Size raw_size = {}, Rate raw_rate = {});

    Size size() const noexcept { return size_; }  ///< even: odd columns and rows are repeated once
    Rate rate() const noexcept { return rate_; }
    /// The next picture, in size().bytes(); false at the end. Throws FilmError for a picture that is cut off.
    bool read(std::vector<std::uint8_t>& picture);
    std::size_t count() const noexcept { return count_; }  ///< pictures read

  private:
    void read_header();
    void take_parameter(const std::string& parameter);
    bool read_frame_header();
    std::string line(const char* what, std::size_t most);
    [[noreturn]] void refuse(const std::string& why) const;

    std::string path_;
    std::ifstream file_;
    bool raw_ = false;
    Size coded_{}, size_{};  ///< as the file has it, and as it is given
    Rate rate_;
    std::size_t count_ = 0;
    std::vector<std::uint8_t> odd_;
};

/// Where a stream is written: a .mp4 file, or the stream itself (any other ending).
class StreamWriter {
  public:
    /// Throws SystemError when it cannot be written.
    StreamWriter(const std::string& path, Size size, Rate rate, const EncoderSettings& settings);
    void write(const Encoded& picture);
    /// Ends the file; without it a .mp4 file cannot be read. Throws SystemError.
    void finish();
    std::uint64_t bytes() const noexcept { return bytes_; }

  private:
    void put(const std::uint8_t* bytes, std::size_t count);
    struct Sample {
        std::uint32_t bytes = 0;
        std::uint64_t shown = 0;
        bool idr = false;
    };
    std::string path_;
    std::ofstream file_;
    bool mp4_;
    Size size_;
    Rate rate_;
    EncoderSettings settings_;
    std::uint64_t bytes_ = 0;
    std::vector<Sample> samples_;
};

}  // namespace penstock::apps::h264
