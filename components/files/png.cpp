// PNG by libpng's simplified interface, which jumps nowhere and allocates what it needs itself.
#include "components/files/picture_file.hpp"

#if defined(PENSTOCK_HAVE_PNG)
#include <png.h>

namespace penstock::components {
namespace {

struct Image : png_image {
    Image() : png_image{} { version = PNG_IMAGE_VERSION; }
    ~Image() { png_image_free(this); }
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;
    [[noreturn]] void refuse(const char* what) const {
        throw PictureError(std::string("a PNG picture cannot be ") + what + ": " + message);
    }
};

}  // namespace

void decode_png(FileBytes file, std::size_t most_pixels, const PictureRoom& room) {
    Image image;
    if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) image.refuse("decoded");
    require_size(image.height, image.width, most_pixels);
    image.format = PNG_FORMAT_RGB;
    const auto rgb = room({image.height, image.width, 3});
    const png_color white{255, 255, 255};
    if (png_image_finish_read(&image, &white, rgb.data(), static_cast<png_int_32>(rgb.stride(0)), nullptr) == 0 ||
        (image.warning_or_error & PNG_IMAGE_ERROR) != 0)
        image.refuse("decoded");
}

std::vector<std::uint8_t> encode_png(view<const std::uint8_t, 2> pixels, std::size_t channels) {
    Image image;
    image.width = static_cast<png_uint_32>(pixels.extent(1) / channels);
    image.height = static_cast<png_uint_32>(pixels.extent(0));
    image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
    std::vector<std::uint8_t> made(bytes);
    if (png_image_write_to_memory(&image, made.data(), &bytes, 0, pixels.data(),
                                  static_cast<png_int_32>(pixels.stride(0)), nullptr) == 0)
        image.refuse("encoded");
    made.resize(bytes);
    return made;
}

}  // namespace penstock::components
#else

namespace penstock::components {

void decode_png(FileBytes, std::size_t, const PictureRoom&) { refuse_format("PNG", "libpng"); }
std::vector<std::uint8_t> encode_png(view<const std::uint8_t, 2>, std::size_t) { refuse_format("to be PNG", "libpng"); }

}  // namespace penstock::components
#endif
