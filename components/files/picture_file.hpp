// Pictures as the bytes of files: JPEG, PNG, TIFF and PNM. Which one it is is said by the first bytes, never by a name.
//
// Each format has a file of its own here (jpeg.cpp, png.cpp, tiff.cpp, pnm.cpp), and is left out where its library was
// not there when Penstock was built: then a picture of that format is refused by name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "components/picture.hpp"

namespace penstock::components {

/// Bytes that are no picture, a damaged one, or one that is too large.
class PictureError : public Error {
  public:
    using Error::Error;
};

using FileBytes = std::span<const std::uint8_t>;
/// Memory for the pixels of a picture of this shape, rows x (columns * 3).
using PictureRoom = std::function<view<std::uint8_t, 2>(PictureShape)>;

struct DecodeWishes {
    int divisor = 1;  ///< 1, 2, 4 or 8: of the sides
    std::size_t most_pixels = std::size_t{1} << 28;
    bool upright = true;  ///< turned as the camera says that it was held
};

/// Decodes RGB; transparent pixels lie over white, 16 bits become 8. Throws PictureError, and what `room` throws. One
/// thread at a time.
class PictureDecoder {
  public:
    PictureDecoder();
    ~PictureDecoder();
    void decode(FileBytes file, const DecodeWishes& wishes, const PictureRoom& room);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

enum class PictureFormat { jpeg, png, tiff, pnm };
inline constexpr std::string_view picture_formats[] = {"jpeg", "png", "tiff", "pnm"};

/// A picture of 1 or 3 channels as a file. `quality`: of JPEG, 1 to 100. Throws PictureError.
std::vector<std::uint8_t> encode_picture(view<const std::uint8_t, 2> pixels, std::size_t channels, PictureFormat format,
                                         int quality);

/// Refuses a picture of a shape that nobody could hold. Called by each format with what the header says.
void require_size(std::uint64_t rows, std::uint64_t columns, std::size_t most_pixels);

// ---- the formats ----

/// From a decoder: first the shape, then the pixels, so that nothing is decoded for which there is no room.
std::vector<std::uint8_t> encode_png(view<const std::uint8_t, 2> pixels, std::size_t channels);
void decode_png(FileBytes file, std::size_t most_pixels, const PictureRoom& room);
std::vector<std::uint8_t> encode_tiff(view<const std::uint8_t, 2> pixels, std::size_t channels);
void decode_tiff(FileBytes file, std::size_t most_pixels, const PictureRoom& room);
std::vector<std::uint8_t> encode_pnm(view<const std::uint8_t, 2> pixels, std::size_t channels);
void decode_pnm(FileBytes file, std::size_t most_pixels, const PictureRoom& room);

/// How a JPEG picture is to be turned, as its Exif data say: 1 (as it is) to 8; 1 where they say nothing.
int exif_orientation(FileBytes jpeg) noexcept;

[[noreturn]] void refuse_format(const char* format, const char* library);

}  // namespace penstock::components
