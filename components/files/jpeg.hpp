// JPEG pictures in memory, by libjpeg-turbo: decoded with its slow integer DCT, whose bits all of its users agree on
// (Pillow, OpenCV, djpeg), also where the picture is made smaller while it is decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "penstock/error.hpp"
#include "penstock/view.hpp"

namespace penstock::components {

/// Bytes that are no JPEG picture, or none that can be decoded to RGB; what() has libjpeg's own words.
class JpegError : public Error {
  public:
    using Error::Error;
};

/// Rows and columns of a picture.
struct PictureSize {
    std::size_t rows = 0, columns = 0;
    bool operator==(const PictureSize&) const = default;
};

/// Decodes one picture after the other. One thread at a time; making one costs more than decoding a small picture, so
/// keep it.
class JpegDecoder {
  public:
    JpegDecoder();
    ~JpegDecoder();
    JpegDecoder(const JpegDecoder&) = delete;
    JpegDecoder& operator=(const JpegDecoder&) = delete;

    /// The size that decode() will give for 1/`divisor` (1, 2, 4 or 8) of the picture's sides, rounded up. Reads the
    /// header only.
    PictureSize size(std::span<const std::uint8_t> jpeg, int divisor = 1);
    /// rgb(i, 3 j .. 3 j + 2) := the pixel. Throws JpegError; UsageError for an image of another size than size() says,
    /// or whose rows' bytes do not follow one another. Data that ends early is an error, not a grey rest.
    void decode(std::span<const std::uint8_t> jpeg, view<std::uint8_t, 2> rgb, int divisor = 1);
    /// The same into what `room` gives for a picture of that size, so that the header is read once only.
    void decode(std::span<const std::uint8_t> jpeg, const std::function<view<std::uint8_t, 2>(PictureSize)>& room,
                int divisor = 1);
    /// In pieces, for a picture that is used as it comes: reads the header, and gives the whole size. The picture's
    /// bytes stay until its last row was read, or the next picture is begun.
    PictureSize begin(std::span<const std::uint8_t> jpeg, int divisor = 1);
    /// The next rows of that picture, as many as `rgb` has. Throws JpegError; UsageError for more than are left.
    void next_rows(view<std::uint8_t, 2> rgb);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// A picture of 3 bytes a pixel (rows x 3 columns), or of 1 (grey), as baseline JPEG, quality 1 to 100, colour at half
/// the resolution both ways. Throws JpegError for a picture without pixels or with sides above 65,500.
std::vector<std::uint8_t> encode_jpeg(view<const std::uint8_t, 2> pixels, int quality = 90, std::size_t channels = 3);

}  // namespace penstock::components
