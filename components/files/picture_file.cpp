#include "components/files/picture_file.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/shrink.hpp"
#if defined(PENSTOCK_HAVE_JPEG)
#include "components/files/jpeg.hpp"
#endif

namespace penstock::components {
namespace {

bool begins_with(FileBytes file, std::string_view magic) noexcept {
    return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

/// Orientations 5 to 8 exchange rows and columns.
constexpr bool lies_on_its_side(int orientation) noexcept { return orientation >= 5; }

/// to := from, turned and mirrored as the number of Exif says.
void turn(view<const std::uint8_t, 2> from, int orientation, view<std::uint8_t, 2> to) {
    const std::size_t rows = to.extent(0), columns = to.extent(1) / 3;
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
            const std::size_t down = rows - 1 - i, right = columns - 1 - j;
            std::size_t row = i, column = j;
            switch (orientation) {
                case 2:
                    column = right;
                    break;
                case 3:
                    row = down, column = right;
                    break;
                case 4:
                    row = down;
                    break;
                case 5:
                    row = j, column = i;
                    break;
                case 6:
                    row = right, column = i;
                    break;
                case 7:
                    row = right, column = down;
                    break;
                case 8:
                    row = j, column = down;
                    break;
                default:
                    break;
            }
            std::copy_n(&from(row, 3 * column), 3, &to(i, 3 * j));
        }
    }
}

}  // namespace

void refuse_format(const char* format, const char* library) {
    throw PictureError(std::string("a picture is ") + format + ", and this Penstock was built without " + library);
}

void require_size(std::uint64_t rows, std::uint64_t columns, std::size_t most_pixels) {
    if (rows == 0 || columns == 0) throw PictureError("a picture has no pixels");
    if (rows > most_pixels / columns)
        throw PictureError("a picture has " + std::to_string(rows) + " x " + std::to_string(columns) +
                           " pixels, and the most that is taken is " + std::to_string(most_pixels) +
                           " (`most-pixels`): read it in tiles (`read-slide`), or raise the limit");
}

struct PictureDecoder::State {
#if defined(PENSTOCK_HAVE_JPEG)
    JpegDecoder jpeg;
#endif
    std::vector<std::uint8_t> whole;

    /// Memory of its own for a picture that is shrunk or turned behind the decoder.
    view<std::uint8_t, 2> own(const PictureShape& shape) {
        whole.resize(shape.pixels() * 3);
        return {whole.data(), {shape.rows, shape.columns * 3}};
    }
};

PictureDecoder::PictureDecoder() : state_(std::make_unique<State>()) {}
PictureDecoder::~PictureDecoder() = default;

void PictureDecoder::decode(FileBytes file, const DecodeWishes& wishes, const PictureRoom& room) {
    if (begins_with(file, "\xff\xd8")) {
#if defined(PENSTOCK_HAVE_JPEG)
        try {
            const int orientation = wishes.upright ? exif_orientation(file) : 1;
            const auto checked = [&](PictureSize size) {
                require_size(size.rows, size.columns, wishes.most_pixels);
                return PictureShape{size.rows, size.columns, 3};
            };
            if (orientation == 1)
                return state_->jpeg.decode(file, [&](PictureSize size) { return room(checked(size)); }, wishes.divisor);
            PictureShape shape;
            view<std::uint8_t, 2> pixels;
            state_->jpeg.decode(
                file, [&](PictureSize size) { return pixels = state_->own(shape = checked(size)); }, wishes.divisor);
            if (lies_on_its_side(orientation)) std::swap(shape.rows, shape.columns);
            return turn(pixels, orientation, room(shape));
        } catch (const JpegError& error) {
            throw PictureError(error.what());
        }
#else
        refuse_format("JPEG", "libjpeg-turbo");
#endif
    }
    const auto by = static_cast<std::size_t>(wishes.divisor);
    const auto decode_by = [&](void (*format)(FileBytes, std::size_t, const PictureRoom&)) {
        if (by == 1) return format(file, wishes.most_pixels, room);
        PictureShape shape;
        view<std::uint8_t, 2> pixels;
        format(file, wishes.most_pixels, [&](PictureShape found) { return pixels = state_->own(shape = found); });
        kernels::shrink(pixels, room({(shape.rows + by - 1) / by, (shape.columns + by - 1) / by, 3}), by, 3);
    };
    if (begins_with(file, "\x89PNG\r\n\x1a\n")) return decode_by(decode_png);
    if (begins_with(file, {"II*\0", 4}) || begins_with(file, {"MM\0*", 4}) || begins_with(file, {"II+\0", 4}) ||
        begins_with(file, {"MM\0+", 4}))
        return decode_by(decode_tiff);
    if (begins_with(file, "P5") || begins_with(file, "P6")) return decode_by(decode_pnm);
    throw PictureError("a file of " + std::to_string(file.size()) +
                       " bytes is no picture that is known here: JPEG, PNG, TIFF, or binary PGM or PPM");
}

std::vector<std::uint8_t> encode_picture(view<const std::uint8_t, 2> pixels, std::size_t channels, PictureFormat format,
                                         int quality) {
    if (channels != 1 && channels != 3)
        throw PictureError("a picture of " + std::to_string(channels) + " channels cannot be encoded: it takes 1 or 3");
    if (pixels.empty()) throw PictureError("a picture without pixels cannot be encoded");
    switch (format) {
        case PictureFormat::png:
            return encode_png(pixels, channels);
        case PictureFormat::tiff:
            return encode_tiff(pixels, channels);
        case PictureFormat::pnm:
            return encode_pnm(pixels, channels);
        case PictureFormat::jpeg:
            break;
    }
#if defined(PENSTOCK_HAVE_JPEG)
    try {
        return encode_jpeg(pixels, quality, channels);
    } catch (const JpegError& error) {
        throw PictureError(error.what());
    }
#else
    static_cast<void>(quality);
    refuse_format("to be JPEG", "libjpeg-turbo");
#endif
}

// ---- Exif: the one number of it that changes what a picture looks like ----

int exif_orientation(FileBytes jpeg) noexcept {
    const auto byte = [&](std::size_t at) -> std::size_t { return at < jpeg.size() ? jpeg[at] : 0; };
    const auto pair = [&](std::size_t at) { return byte(at) << 8 | byte(at + 1); };
    for (std::size_t at = 2; at + 4 <= jpeg.size() && byte(at) == 0xff;) {
        const std::size_t marker = byte(at + 1), length = pair(at + 2);
        if (marker == 0xda || length < 2) return 1;  // the pixels begin
        const std::size_t tiff = at + 10, end = std::min(at + 2 + length, jpeg.size());
        if (marker == 0xe1 && tiff + 8 <= end && std::memcmp(jpeg.data() + at + 4, "Exif\0", 6) == 0) {
            const bool little = byte(tiff) == 'I';
            const auto two = [&](std::size_t from) {
                return from + 2 > end ? 0 : little ? byte(from) | byte(from + 1) << 8 : pair(from);
            };
            const auto four = [&](std::size_t from) {
                return little ? two(from) | two(from + 2) << 16 : two(from) << 16 | two(from + 2);
            };
            const std::size_t first = tiff + four(tiff + 4), entries = first < end ? two(first) : 0;
            for (std::size_t i = 0; i < entries && first + 2 + 12 * (i + 1) <= end; ++i) {
                const std::size_t entry = first + 2 + 12 * i, value = two(entry + 8);
                if (two(entry) == 0x0112) return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
            }
            return 1;
        }
        at += 2 + length;
    }
    return 1;
}

}  // namespace penstock::components
