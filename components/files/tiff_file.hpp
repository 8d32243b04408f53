// A TIFF file that libtiff has open: in memory, or a file that a process may read or write in pieces. Errors are
// PictureErrors with libtiff's own words.
#pragma once

#include "components/files/picture_file.hpp"

#if defined(PENSTOCK_HAVE_TIFF)
#include <tiffio.h>

namespace penstock::components {

/// Bytes in memory that libtiff reads from, or writes to.
struct TiffMemory {
    FileBytes from{};
    std::vector<std::uint8_t> to{};
    bool writes = false;
    std::size_t at = 0;
};

class TiffFile {
  public:
    /// Throws PictureError.
    explicit TiffFile(TiffMemory& memory);
    /// A file on a disc, to be read ("r"), or that `descriptor` is open for ("w"; "w8" for more than 4 GiB). `path`:
    /// for messages.
    TiffFile(const std::string& path, const char* mode, int descriptor = -1);
    ~TiffFile();
    TiffFile(const TiffFile&) = delete;
    TiffFile& operator=(const TiffFile&) = delete;

    TIFF* get() const noexcept { return tiff_; }
    template <class T>
    T field(std::uint32_t tag, T otherwise = T{}) const {
        T value = otherwise;
        return TIFFGetFieldDefaulted(tiff_, tag, &value) == 1 ? value : otherwise;
    }
    template <class T>
    void set(std::uint32_t tag, T value) {
        if (TIFFSetField(tiff_, tag, value) != 1) refuse("written");
    }
    /// What is left is written. Throws PictureError.
    void finish();
    [[noreturn]] void refuse(const char* what) const;

  private:
    TIFF* tiff_ = nullptr;
    std::string name_;
    bool owns_descriptor_ = true;
};

/// Has the page, which libtiff has just gone to, a shape that may be taken, and pixels that libtiff can make RGB of?
/// Throws PictureError.
void require_rgb(const TiffFile& file, std::size_t most_pixels);

}  // namespace penstock::components
#endif
