// Slides: TIFF files that are read and written a tile at a time, so that they may be larger than memory.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <tuple>

#include "components/classes.hpp"
#include "components/files/beside.hpp"
#include "components/files/tiff_file.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

#if defined(PENSTOCK_HAVE_TIFF)

/// How a page of a TIFF file is cut: into its tiles, or into its strips.
struct Cut {
    std::size_t rows = 0, columns = 0, tile_rows = 0, tile_columns = 0;
    bool tiled = false;

    static std::size_t parts(std::size_t side, std::size_t of) noexcept { return (side + of - 1) / of; }
    std::size_t down() const noexcept { return parts(rows, tile_rows); }
    std::size_t across() const noexcept { return parts(columns, tile_columns); }
};

Cut cut_of(const TiffFile& file) {
    const auto number = [&](std::uint32_t tag) { return std::size_t{file.field<std::uint32_t>(tag)}; };
    Cut cut{.rows = number(TIFFTAG_IMAGELENGTH),
            .columns = number(TIFFTAG_IMAGEWIDTH),
            .tiled = TIFFIsTiled(file.get()) != 0};
    cut.tile_rows = cut.tiled ? number(TIFFTAG_TILELENGTH) : std::min(number(TIFFTAG_ROWSPERSTRIP), cut.rows);
    cut.tile_columns = cut.tiled ? number(TIFFTAG_TILEWIDTH) : cut.columns;
    require_size(cut.rows, cut.columns, std::numeric_limits<std::uint32_t>::max() * std::size_t{1024});
    if (cut.tile_rows == 0 || cut.tile_columns == 0) throw PictureError("a slide has tiles without pixels");
    if (cut.down() > Grid::most || cut.across() > Grid::most)
        throw PictureError("a slide of " + std::to_string(cut.down()) + " x " + std::to_string(cut.across()) +
                           " tiles has more than " + std::to_string(Grid::most) + " in one direction");
    return cut;
}

std::unique_ptr<TiffFile> page_of(const std::string& path, int page) {
    if (path.empty()) throw UsageError("it is not said which slide is read: set its path");
    (void)files_at(path, "");  // says what the system says where there is none
    auto file = std::make_unique<TiffFile>(path, "r");
    if (TIFFSetDirectory(file->get(), static_cast<tdir_t>(page)) != 1)
        throw PictureError("the slide '" + path + "' has " + std::to_string(TIFFNumberOfDirectories(file->get())) +
                           " pages, counted from 0, and not one of number " + std::to_string(page));
    return file;
}

struct ReadSlide {
    Output<std::uint8_t> tile{"tile"};
    Setting<std::string> path{"path", "", {.doc = "A TIFF file."}};
    Setting<int> page{"page",
                      0,
                      {.least = 0,
                       .most = 65535,
                       .doc = "Which picture of the file: in slides with several sizes, 0 is the largest."}};
    Setting<std::int64_t> passes{"passes", 1, {.least = 1, .doc = "How often it is read."}};
    Setting<std::int64_t> most_pixels{
        "most-pixels", 1 << 26, {.unit = "pixels", .least = 1, .doc = "Of a tile; a larger one is refused."}};
    std::uint64_t next = 0;
    auto state() { return std::tie(next); }

    void start() {
        file_ = page_of(path, page);
        cut_ = cut_of(*file_);
        require_size(cut_.tile_rows, cut_.tile_columns, static_cast<std::size_t>(most_pixels.get()));
        require_rgb(*file_, std::numeric_limits<std::size_t>::max());
        pixels_.resize(cut_.tile_rows * cut_.tile_columns);
    }
    bool operator()() {
        const std::size_t across = cut_.across(), all = cut_.down() * across;
        if (next == all * static_cast<std::uint64_t>(passes.get())) return false;
        const std::size_t number = next % all, row = number / across, column = number % across;
        const auto first_row = row * cut_.tile_rows, first_column = column * cut_.tile_columns;
        const auto rows = std::min(cut_.tile_rows, cut_.rows - first_row),
                   columns = std::min(cut_.tile_columns, cut_.columns - first_column);
        const int read = cut_.tiled
                             ? TIFFReadRGBATile(file_->get(), static_cast<std::uint32_t>(first_column),
                                                static_cast<std::uint32_t>(first_row), pixels_.data())
                             : TIFFReadRGBAStrip(file_->get(), static_cast<std::uint32_t>(first_row), pixels_.data());
        if (read != 1) file_->refuse("read");
        const auto last = (cut_.tiled ? cut_.tile_rows : rows) - 1;  // libtiff begins at the bottom
        auto made = make_picture(tile, {rows, columns, 3});
        auto* to = made.edit().data();
        for (std::size_t i = 0; i < rows; ++i) {
            const auto* const line = pixels_.data() + (last - i) * cut_.tile_columns;
            for (std::size_t j = 0; j < columns; ++j, to += 3) {
                const auto white = 255 - TIFFGetA(line[j]);
                to[0] = static_cast<std::uint8_t>(std::min(TIFFGetR(line[j]) + white, 255u));
                to[1] = static_cast<std::uint8_t>(std::min(TIFFGetG(line[j]) + white, 255u));
                to[2] = static_cast<std::uint8_t>(std::min(TIFFGetB(line[j]) + white, 255u));
            }
        }
        const auto part = [](std::size_t value) { return static_cast<std::uint16_t>(value); };
        made.edit_tags() = {.sequence = next++,
                            .time = 0,
                            .user = {0, Grid{part(row), part(column), part(cut_.down()), part(across)}.tag()}};
        tile.write(std::move(made));
        return true;
    }

  private:
    std::unique_ptr<TiffFile> file_;
    Cut cut_;
    std::vector<std::uint32_t> pixels_;
};

struct WriteSlide {
    Input<std::uint8_t> tile{"tile"};
    Setting<std::string> path{"path", "", {.doc = "A TIFF file (BigTIFF beyond 4 GiB)."}};
    Setting<std::string> like{"like", "", {.doc = "The slide that tiles come from: this one is cut like it."}};
    Setting<int> page{"page", 0, {.least = 0, .most = 65535, .doc = "Of `like`."}};
    Setting<int> divisor{
        "divisor", 1, {.least = 1, .most = 64, .doc = "By which tiles are smaller than those of `like`."}};
    Setting<std::int64_t> rows{
        "rows", 0, {.unit = "pixels", .least = 0, .most = 4294967295.0, .doc = "Of the whole, without `like`."}};
    Setting<std::int64_t> columns{"columns", 0, {.unit = "pixels", .least = 0, .most = 4294967295.0}};
    Setting<int> tile_rows{
        "tile-rows", 256, {.unit = "pixels", .least = 16, .most = 1 << 16, .doc = "Without `like`: a multiple of 16."}};
    Setting<int> tile_columns{"tile-columns", 256, {.unit = "pixels", .least = 16, .most = 1 << 16}};
    Setting<std::string> compression{"compression", "deflate", {.choices = {"deflate", "lzw", "none"}}};

    void start() {
        if (path.get().empty()) throw UsageError("it is not said which slide is written: set `path`");
        if (like.get().empty()) {
            if (rows == 0 || columns == 0) throw UsageError("set `like`, or the `rows` and `columns` of the whole");
            cut_ = {static_cast<std::size_t>(rows.get()), static_cast<std::size_t>(columns.get()),
                    static_cast<std::size_t>(tile_rows.get()), static_cast<std::size_t>(tile_columns.get()), true};
        } else {
            cut_ = cut_of(*page_of(like, page));
            const auto by = static_cast<std::size_t>(divisor.get());
            const auto smaller = [by](std::size_t side, std::size_t tile_side) {  // each tile by itself
                const auto whole = (side - 1) / tile_side;
                return whole * Cut::parts(tile_side, by) + Cut::parts(side - whole * tile_side, by);
            };
            cut_ = {smaller(cut_.rows, cut_.tile_rows), smaller(cut_.columns, cut_.tile_columns),
                    Cut::parts(cut_.tile_rows, by), Cut::parts(cut_.tile_columns, by), true};
        }
        if (cut_.tile_rows % 16 != 0 || cut_.tile_columns % 16 != 0)
            throw UsageError("tiles of " + std::to_string(cut_.tile_rows) + " x " + std::to_string(cut_.tile_columns) +
                             " pixels cannot be those of a TIFF file: both must be multiples of 16");
        file_ = std::make_unique<FileBeside>(path);
    }
    void operator()() {
        const auto read = tile.read();
        const auto shape = shape_of(read);
        if (tiff_ == nullptr) open(shape.channels);
        const auto place = Grid::of(read.tags().user[1]);
        const auto first_row = place.row * cut_.tile_rows, first_column = place.column * cut_.tile_columns;
        const PictureShape wanted{
            first_row < cut_.rows ? std::min(cut_.tile_rows, cut_.rows - first_row) : 0,
            first_column < cut_.columns ? std::min(cut_.tile_columns, cut_.columns - first_column) : 0, channels_};
        if (shape != wanted)
            throw UsageError("the tile in row " + std::to_string(place.row) + ", column " +
                             std::to_string(place.column) + " is of " + text_of(shape) + ", and the slide '" +
                             path.get() + "' has room for " + text_of(wanted));
        padded_.assign(cut_.tile_rows * cut_.tile_columns * channels_, 0);
        for (std::size_t i = 0; i < shape.rows; ++i)
            std::ranges::copy(rows_of(read).row(i),
                              padded_.begin() + static_cast<std::ptrdiff_t>(i * cut_.tile_columns * channels_));
        errno = 0;
        if (TIFFWriteTile(tiff_->get(), padded_.data(), static_cast<std::uint32_t>(first_column),
                          static_cast<std::uint32_t>(first_row), 0, 0) < 0)
            refuse_written();
        ++written_;
    }
    void finish() {
        if (written_ < cut_.down() * cut_.across())
            throw UsageError("of the slide '" + path.get() + "' " + std::to_string(written_) +
                             " tiles came, and it has " + std::to_string(cut_.down() * cut_.across()) +
                             ": it is not written");
        errno = 0;
        if (TIFFFlush(tiff_->get()) != 1) refuse_written();
        tiff_ = nullptr;
        file_->put_in_place();
    }

  private:
    /// libtiff does not say what the system said.
    [[noreturn]] void refuse_written() const {
        if (const int error = errno; error == ENOSPC || error == EFBIG || error == EDQUOT || error == EIO)
            file_->refuse(error);
        tiff_->refuse("written");
    }
    void open(std::size_t channels) {
        if (channels != 1 && channels != 3)
            throw UsageError("tiles have 1 or 3 channels, not " + std::to_string(channels));
        channels_ = channels;
        const bool big = cut_.rows * cut_.columns * channels > (std::size_t{7} << 29);
        tiff_ = std::make_unique<TiffFile>(path, big ? "w8" : "w", file_->descriptor());
        tiff_->set(TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(cut_.columns));
        tiff_->set(TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(cut_.rows));
        tiff_->set(TIFFTAG_TILEWIDTH, static_cast<std::uint32_t>(cut_.tile_columns));
        tiff_->set(TIFFTAG_TILELENGTH, static_cast<std::uint32_t>(cut_.tile_rows));
        tiff_->set(TIFFTAG_BITSPERSAMPLE, 8);
        tiff_->set(TIFFTAG_SAMPLESPERPIXEL, static_cast<int>(channels));
        tiff_->set(TIFFTAG_PLANARCONFIG, static_cast<int>(PLANARCONFIG_CONTIG));
        tiff_->set(TIFFTAG_PHOTOMETRIC,
                   channels == 3 ? static_cast<int>(PHOTOMETRIC_RGB) : static_cast<int>(PHOTOMETRIC_MINISBLACK));
        const auto& kind = compression.get();
        tiff_->set(TIFFTAG_COMPRESSION, static_cast<int>(kind == "deflate" ? COMPRESSION_ADOBE_DEFLATE
                                                         : kind == "lzw"   ? COMPRESSION_LZW
                                                                           : COMPRESSION_NONE));
    }
    std::unique_ptr<FileBeside> file_;
    std::unique_ptr<TiffFile> tiff_;  // goes before the file
    Cut cut_;
    std::size_t channels_ = 3, written_ = 0;
    std::vector<std::uint8_t> padded_;
};

#endif

}  // namespace

void add_slides([[maybe_unused]] Components& components) {
#if defined(PENSTOCK_HAVE_TIFF)
    components.add<ReadSlide>(
        "read-slide",
        "The tiles (or strips) of a page of a TIFF file, one at a time, as RGB; user[1] is the place in the grid.");
    components.add<WriteSlide>("write-slide",
                               "Tiles in any order as a tiled TIFF file, which appears when it is complete.");
#endif
}

}  // namespace penstock::components
