#include "components/files/tiff_file.hpp"

#if defined(PENSTOCK_HAVE_TIFF)
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace penstock::components {
namespace {

/// What libtiff said last in this thread: its functions only say that something went wrong.
thread_local char words[512];

void note_error(const char*, const char* format, va_list arguments) {
    std::vsnprintf(words, sizeof words, format, arguments);
}

void take_over_messages() {
    static std::once_flag once;
    std::call_once(once, [] {
        TIFFSetErrorHandler(note_error);
        TIFFSetWarningHandler(nullptr);
    });
    words[0] = '\0';
}

TiffMemory& memory_of(thandle_t handle) { return *static_cast<TiffMemory*>(handle); }

tmsize_t read_some(thandle_t handle, void* to, tmsize_t count) {
    auto& memory = memory_of(handle);
    const auto size = memory.writes ? memory.to.size() : memory.from.size();
    const auto got = std::min(static_cast<std::size_t>(count), size - std::min(memory.at, size));
    if (got != 0) std::memcpy(to, (memory.writes ? memory.to.data() : memory.from.data()) + memory.at, got);
    memory.at += got;
    return static_cast<tmsize_t>(got);
}
tmsize_t write_some(thandle_t handle, void* from, tmsize_t count) {
    auto& memory = memory_of(handle);
    if (!memory.writes) return -1;
    const auto end = memory.at + static_cast<std::size_t>(count);
    try {
        if (end > memory.to.size()) memory.to.resize(end);
    } catch (const std::exception&) {  // must not get through C code
        return -1;
    }
    if (count != 0) std::memcpy(memory.to.data() + memory.at, from, static_cast<std::size_t>(count));
    memory.at = end;
    return count;
}
toff_t size_of(thandle_t handle) {
    const auto& memory = memory_of(handle);
    return memory.writes ? memory.to.size() : memory.from.size();
}
toff_t seek(thandle_t handle, toff_t offset, int whence) {
    auto& memory = memory_of(handle);
    const auto base = whence == SEEK_CUR ? memory.at : whence == SEEK_END ? size_of(handle) : 0;
    return memory.at = base + offset;
}
int close_nothing(thandle_t) { return 0; }

}  // namespace

TiffFile::TiffFile(TiffMemory& memory) : name_("a TIFF picture") {
    take_over_messages();
    tiff_ = TIFFClientOpen("memory", memory.writes ? "w" : "rm", &memory, read_some, write_some, seek, close_nothing,
                           size_of, nullptr, nullptr);
    if (tiff_ == nullptr) refuse("opened");
}

TiffFile::TiffFile(const std::string& path, const char* mode, int descriptor) : name_("the TIFF file '" + path + "'") {
    take_over_messages();
    tiff_ = descriptor < 0 ? TIFFOpen(path.c_str(), mode) : TIFFFdOpen(descriptor, path.c_str(), mode);
    owns_descriptor_ = descriptor < 0;
    if (tiff_ == nullptr) refuse("opened");
}

TiffFile::~TiffFile() {
    if (tiff_ != nullptr) (owns_descriptor_ ? TIFFClose : TIFFCleanup)(tiff_);
}

void TiffFile::finish() {
    if (TIFFFlush(tiff_) != 1) refuse("written");
}

void TiffFile::refuse(const char* what) const {
    throw PictureError(name_ + " cannot be " + what + ": " + (words[0] != '\0' ? words : "libtiff does not say why"));
}

void require_rgb(const TiffFile& file, std::size_t most_pixels) {
    require_size(file.field<std::uint32_t>(TIFFTAG_IMAGELENGTH), file.field<std::uint32_t>(TIFFTAG_IMAGEWIDTH),
                 most_pixels);
    char why[1024] = "";
    if (TIFFRGBAImageOK(file.get(), why) != 1)
        throw PictureError(std::string("a TIFF picture is of a kind that is not decoded here: ") + why);
}

void decode_tiff(FileBytes bytes, std::size_t most_pixels, const PictureRoom& room) {
    TiffMemory memory{.from = bytes};
    const TiffFile file(memory);
    require_rgb(file, most_pixels);
    const auto rows = file.field<std::uint32_t>(TIFFTAG_IMAGELENGTH),
               columns = file.field<std::uint32_t>(TIFFTAG_IMAGEWIDTH);
    std::vector<std::uint32_t> pixels(std::size_t{rows} * columns);
    words[0] = '\0';
    if (TIFFReadRGBAImageOriented(file.get(), columns, rows, pixels.data(), ORIENTATION_TOPLEFT, 1) != 1 ||
        words[0] != '\0')
        file.refuse("decoded");
    const auto rgb = room({rows, columns, 3});
    for (std::size_t i = 0; i < rows; ++i) {
        const auto to = rgb.row(i);
        for (std::size_t j = 0; j < columns; ++j) {
            const auto pixel = pixels[i * columns + j], white = 255 - TIFFGetA(pixel);  // colours are premultiplied
            to[3 * j] = static_cast<std::uint8_t>(std::min(TIFFGetR(pixel) + white, 255u));
            to[3 * j + 1] = static_cast<std::uint8_t>(std::min(TIFFGetG(pixel) + white, 255u));
            to[3 * j + 2] = static_cast<std::uint8_t>(std::min(TIFFGetB(pixel) + white, 255u));
        }
    }
}

std::vector<std::uint8_t> encode_tiff(view<const std::uint8_t, 2> pixels, std::size_t channels) {
    TiffMemory memory{.writes = true};
    {
        TiffFile file(memory);
        file.set(TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(pixels.extent(1) / channels));
        file.set(TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(pixels.extent(0)));
        file.set(TIFFTAG_BITSPERSAMPLE, 8);
        file.set(TIFFTAG_SAMPLESPERPIXEL, static_cast<int>(channels));
        file.set(TIFFTAG_PLANARCONFIG, static_cast<int>(PLANARCONFIG_CONTIG));
        file.set(TIFFTAG_PHOTOMETRIC,
                 channels == 3 ? static_cast<int>(PHOTOMETRIC_RGB) : static_cast<int>(PHOTOMETRIC_MINISBLACK));
        file.set(TIFFTAG_COMPRESSION, static_cast<int>(COMPRESSION_ADOBE_DEFLATE));
        file.set(TIFFTAG_ROWSPERSTRIP, TIFFDefaultStripSize(file.get(), 0));
        for (std::size_t i = 0; i < pixels.extent(0); ++i)
            if (TIFFWriteScanline(file.get(), const_cast<std::uint8_t*>(pixels.row(i).data()),
                                  static_cast<std::uint32_t>(i), 0) != 1)
                file.refuse("encoded");
        file.finish();
    }
    return std::move(memory.to);
}

}  // namespace penstock::components
#else

namespace penstock::components {

void decode_tiff(FileBytes, std::size_t, const PictureRoom&) { refuse_format("TIFF", "libtiff"); }
std::vector<std::uint8_t> encode_tiff(view<const std::uint8_t, 2>, std::size_t) {
    refuse_format("to be TIFF", "libtiff");
}

}  // namespace penstock::components
#endif
