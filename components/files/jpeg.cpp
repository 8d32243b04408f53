#include "components/files/jpeg.hpp"

#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs it before it
#include <cstring>
#include <string>
#include <vector>

namespace penstock::components {
namespace {

// libjpeg reports an error by a function that must not return. It jumps out, because exceptions need not get through C
// code: between setjmp and the call that fails nothing may stand that has a destructor.
struct Reports {
    jpeg_error_mgr manager;
    std::jmp_buf back;
    char words[JMSG_LENGTH_MAX];
};

[[noreturn]] void give_up(j_common_ptr about) {
    auto* const reports = reinterpret_cast<Reports*>(about->err);
    about->err->format_message(about, reports->words);
    std::longjmp(reports->back, 1);
}

// Warnings (data that ends early, bytes too many) are errors here: a picture is right or refused.
void on_message(j_common_ptr about, int level) {
    if (level < 0) give_up(about);
}

void prepare(Reports& reports) {
    jpeg_std_error(&reports.manager);
    reports.manager.error_exit = give_up;
    reports.manager.emit_message = on_message;
    reports.words[0] = '\0';
}

bool read_header(jpeg_decompress_struct& decoder, Reports& reports, std::span<const std::uint8_t> jpeg,
                 unsigned divisor) noexcept {
    if (setjmp(reports.back) != 0) return false;
    jpeg_mem_src(&decoder, const_cast<unsigned char*>(jpeg.data()), static_cast<unsigned long>(jpeg.size()));
    jpeg_read_header(&decoder, TRUE);
    decoder.out_color_space = JCS_RGB;
    decoder.dct_method = JDCT_ISLOW;
    decoder.scale_num = 1;
    decoder.scale_denom = divisor;
    jpeg_calc_output_dimensions(&decoder);
    return true;
}

constexpr std::size_t rows_at_once = 4;

// libjpeg-turbo writes rows that begin at a multiple of 32 bytes around the caches, into memory, from where whoever
// reads the picture next fetches them: a tile of 128 x 128 takes a fifth longer (`./bench tissue`). Such rows are
// decoded elsewhere and copied, which takes a tenth of that.
constexpr std::size_t alignment = 32;
bool aligned(const void* row) noexcept { return reinterpret_cast<std::uintptr_t>(row) % alignment == 0; }
std::size_t pitch_of(std::size_t bytes) noexcept { return (bytes + alignment - 1) / alignment * alignment; }
bool goes_around_caches(view<const std::uint8_t, 2> rgb) noexcept {
    return !rgb.empty() && (aligned(rgb.row(0).data()) || aligned(rgb.row(rgb.extent(0) - 1).data()));
}

bool start(jpeg_decompress_struct& decoder, Reports& reports) noexcept {
    if (setjmp(reports.back) != 0) return false;
    jpeg_start_decompress(&decoder);
    return true;
}

// The next rows, as many as there is room for. `near`: rows_at_once rows elsewhere, or null.
bool read_rows(jpeg_decompress_struct& decoder, Reports& reports, view<std::uint8_t, 2> rgb,
               std::uint8_t* near) noexcept {
    if (setjmp(reports.back) != 0) return false;
    const std::size_t first = decoder.output_scanline, bytes = rgb.extent(1);
    while (decoder.output_scanline < first + rgb.extent(0)) {
        JSAMPROW rows[rows_at_once];
        const std::size_t done = decoder.output_scanline - first;
        const std::size_t count = std::min<std::size_t>(rgb.extent(0) - done, rows_at_once);
        const auto row = [&](std::size_t i) {
            return rgb.data() + static_cast<std::ptrdiff_t>(done + i) * rgb.stride(0);
        };
        for (std::size_t i = 0; i < count; ++i) rows[i] = near != nullptr ? near + i * pitch_of(bytes) : row(i);
        const std::size_t made = jpeg_read_scanlines(&decoder, rows, static_cast<JDIMENSION>(count));
        for (std::size_t i = 0; near != nullptr && i < made; ++i) std::memcpy(row(i), rows[i], bytes);
    }
    if (decoder.output_scanline == decoder.output_height) jpeg_finish_decompress(&decoder);
    return true;
}

// `bytes`: what there is room for at `memory`, then what was written.
bool write_pixels(Reports& reports, view<const std::uint8_t, 2> rgb, int quality, std::size_t channels,
                  unsigned char*& memory, unsigned long& bytes) noexcept {
    jpeg_compress_struct encoder;
    encoder.err = &reports.manager;
    if (setjmp(reports.back) != 0) {
        jpeg_destroy_compress(&encoder);
        return false;
    }
    jpeg_create_compress(&encoder);
    jpeg_mem_dest(&encoder, &memory, &bytes);
    encoder.image_height = static_cast<JDIMENSION>(rgb.extent(0));
    encoder.image_width = static_cast<JDIMENSION>(rgb.extent(1) / channels);
    encoder.input_components = static_cast<int>(channels);
    encoder.in_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&encoder);
    jpeg_set_quality(&encoder, quality, TRUE);
    encoder.dct_method = JDCT_ISLOW;
    jpeg_start_compress(&encoder, TRUE);
    while (encoder.next_scanline < encoder.image_height) {
        auto* row =
            const_cast<std::uint8_t*>(rgb.data() + static_cast<std::ptrdiff_t>(encoder.next_scanline) * rgb.stride(0));
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    return true;
}

}  // namespace

struct JpegDecoder::State {
    State() {
        prepare(reports);
        decoder.err = &reports.manager;
        if (setjmp(reports.back) != 0) throw JpegError(std::string("libjpeg cannot be used: ") + reports.words);
        jpeg_create_decompress(&decoder);
    }
    ~State() { jpeg_destroy_decompress(&decoder); }
    [[noreturn]] void refuse(std::size_t bytes) {
        jpeg_abort_decompress(&decoder);
        left = {};
        throw JpegError("a picture of " + std::to_string(bytes) + " bytes cannot be decoded: " + reports.words);
    }
    void head(std::span<const std::uint8_t> jpeg, int divisor) {
        if (divisor != 1 && divisor != 2 && divisor != 4 && divisor != 8)
            throw UsageError("pictures are decoded at 1/1, 1/2, 1/4 or 1/8 of their size, not at 1/" +
                             std::to_string(divisor));
        if (jpeg.empty()) throw JpegError("a picture of 0 bytes cannot be decoded");
        if (left.rows != 0) jpeg_abort_decompress(&decoder);  // nobody wanted the rest of the last one
        left = {};
        if (!read_header(decoder, reports, jpeg, static_cast<unsigned>(divisor))) refuse(jpeg.size());
    }

    PictureSize size() const noexcept { return {decoder.output_height, decoder.output_width}; }
    /// The rows that come next.
    void begin(std::size_t of_bytes) {
        bytes = of_bytes;
        if (!start(decoder, reports)) refuse(bytes);
        left = size();
    }
    void read(view<std::uint8_t, 2> rgb) {
        if (rgb.extent(0) > left.rows || rgb.extent(1) != 3 * left.columns || rgb.stride(1) != 1) {
            const auto what = "room for " + std::to_string(rgb.extent(0)) + " rows of " +
                              std::to_string(rgb.extent(1)) + " bytes, and " + std::to_string(left.rows) + " rows of " +
                              std::to_string(3 * left.columns) + " are left of the picture";
            throw UsageError("there is " + what);
        }
        if (rgb.extent(0) == 0) return;
        std::uint8_t* const near = goes_around_caches(rgb) ? rows_near(rgb.extent(1)) : nullptr;
        if (!read_rows(decoder, reports, rgb, near)) refuse(bytes);
        left.rows -= rgb.extent(0);
    }

    /// Room for rows_at_once rows of so many bytes, none of which begins at a multiple of 32.
    std::uint8_t* rows_near(std::size_t bytes) {
        rows.resize(std::max(rows.size(), rows_at_once * pitch_of(bytes) + alignment));
        return rows.data() + (aligned(rows.data()) ? alignment / 2 : 0);
    }

    jpeg_decompress_struct decoder{};
    Reports reports{};
    std::vector<std::uint8_t> rows{};
    PictureSize left{};     ///< of a picture that is read in pieces
    std::size_t bytes = 0;  ///< of its file
};

JpegDecoder::JpegDecoder() : state_{std::make_unique<State>()} {}
JpegDecoder::~JpegDecoder() = default;

PictureSize JpegDecoder::size(std::span<const std::uint8_t> jpeg, int divisor) {
    state_->head(jpeg, divisor);
    const auto size = state_->size();
    jpeg_abort_decompress(&state_->decoder);
    return size;
}

PictureSize JpegDecoder::begin(std::span<const std::uint8_t> jpeg, int divisor) {
    state_->head(jpeg, divisor);
    state_->begin(jpeg.size());
    return state_->size();
}

void JpegDecoder::next_rows(view<std::uint8_t, 2> rgb) { state_->read(rgb); }

void JpegDecoder::decode(std::span<const std::uint8_t> jpeg, view<std::uint8_t, 2> rgb, int divisor) {
    decode(jpeg, [rgb](PictureSize) { return rgb; }, divisor);
}

void JpegDecoder::decode(std::span<const std::uint8_t> jpeg,
                         const std::function<view<std::uint8_t, 2>(PictureSize)>& room, int divisor) {
    state_->head(jpeg, divisor);
    const auto size = state_->size();
    view<std::uint8_t, 2> rgb;
    try {
        rgb = room(size);
        if (rgb.extent(0) != size.rows || rgb.extent(1) != 3 * size.columns || rgb.stride(1) != 1)
            throw UsageError("a picture of " + std::to_string(size.rows) + " x " + std::to_string(size.columns) +
                             " pixels needs as many rows of " + std::to_string(3 * size.columns) +
                             " bytes that follow one another, not " + std::to_string(rgb.extent(0)) + " of " +
                             std::to_string(rgb.extent(1)));
    } catch (...) {
        jpeg_abort_decompress(&state_->decoder);
        throw;
    }
    state_->begin(jpeg.size());
    state_->read(rgb);
}

std::vector<std::uint8_t> encode_jpeg(view<const std::uint8_t, 2> rgb, int quality, std::size_t channels) {
    constexpr std::size_t most_side = JPEG_MAX_DIMENSION;
    if (rgb.empty() || (channels != 1 && channels != 3) || rgb.extent(1) % channels != 0 || rgb.stride(1) != 1 ||
        rgb.extent(0) > most_side || rgb.extent(1) / channels > most_side)
        throw JpegError("a picture to encode needs 1 to " + std::to_string(most_side) +
                        " rows and columns of pixels of 3 bytes, or of 1, that follow one another");
    Reports reports;
    prepare(reports);
    // No baseline picture needs more: 64 coefficients of a block take at most 6 bytes a pixel of a padded picture.
    const auto padded = [](std::size_t side) { return (side + 15) / 16 * 16; };
    std::vector<std::uint8_t> made(6 * padded(rgb.extent(0)) * padded(rgb.extent(1) / channels) + 4096);
    unsigned char* memory = made.data();
    unsigned long bytes = made.size();
    if (!write_pixels(reports, rgb, quality, channels, memory, bytes))
        throw JpegError(std::string("a picture cannot be encoded: ") + reports.words);
    made.resize(bytes);
    return made;
}

}  // namespace penstock::components
