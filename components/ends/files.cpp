// Files as bytes, and pictures that are decoded from them: apart, so that many pictures are decoded at once while one
// source reads.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

#include "components/classes.hpp"
#include "components/ends/names.hpp"
#include "components/files/beside.hpp"
#include "components/files/picture_file.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

struct ReadFiles {
    Output<std::uint8_t> bytes{"bytes"};
    Setting<std::string> path{"path", "", {.doc = "A file, or a folder whose files are read by name."}};
    Setting<std::string> endings{
        "endings", "", {.doc = "Of a folder's files: \".jpg .png\"; empty: all but those that begin with a dot."}};
    Setting<std::int64_t> passes{"passes", 1, {.least = 1, .doc = "How often all of them are read."}};
    Setting<std::int64_t> most_bytes{
        "most-bytes", 1 << 30, {.unit = "bytes", .least = 1, .doc = "Of a file; a longer one is refused."}};
    std::uint64_t next = 0;
    auto state() { return std::tie(next); }

    void start() { read_ = FilesRead::tell({path, endings, files_at(path, endings)}); }
    bool operator()() {
        const auto& files = read_->files;
        if (next == files.size() * static_cast<std::uint64_t>(passes.get())) return false;
        const auto number = next % files.size();
        const auto held = std::make_shared<const std::string>(
            bytes_of_file(files[number], static_cast<std::size_t>(most_bytes.get())));
        auto buffer = bytes.wrap(std::span(reinterpret_cast<const std::uint8_t*>(held->data()), held->size()), held);
        buffer.edit_tags() = {.sequence = next++, .time = 0, .user = {number, 0}};
        bytes.write(std::move(buffer));
        return true;
    }

  private:
    std::shared_ptr<const FilesRead> read_;
};

struct WriteFiles {
    Input<std::uint8_t> bytes{"bytes"};
    Setting<std::string> folder{"folder", "", {.doc = "Where the files go; it is made if need be."}};
    Setting<std::string> ending{"ending", "", {.doc = "Of their names: \".jpg\"."}};
    Naming naming{"file-"};

    void start() {
        if (folder.get().empty()) throw UsageError("it is not said where files go: set `folder`");
        naming.begin();
    }
    void operator()() {
        const auto read = bytes.read();
        FileBeside file(folder.get() + "/" + naming.of(read.tags().user) + ending.get());
        file.write(read.span());
        file.put_in_place();
    }
};

struct DecodePicture {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> bytes{"bytes"};
    Output<std::uint8_t> picture{"picture"};
    Setting<int> divisor{
        "divisor",
        1,
        {.least = 1, .most = 8, .doc = "1, 2, 4 or 8: the picture comes with its sides divided by this."}};
    Setting<std::int64_t> most_pixels{
        "most-pixels",
        1 << 28,
        {.unit = "pixels", .least = 1, .doc = "Of a picture; a larger one is refused before it is decoded."}};
    Setting<bool> upright{"upright", true, {.doc = "Turned as the camera says that it was held (Exif)."}};
    Naming naming{"picture "};
    PictureDecoder decoder;

    void start() {
        naming.begin();
        if (const int by = divisor; by != 1 && by != 2 && by != 4 && by != 8)
            throw UsageError("pictures are decoded at 1/1, 1/2, 1/4 or 1/8 of their sides, not at 1/" +
                             std::to_string(by));
    }
    void operator()() {
        const auto file = bytes.read();
        Buffer<std::uint8_t> made;
        const auto who = [&] { return naming.source_of(file.tags().user) + ": "; };
        try {
            decoder.decode(file.span(), {divisor, static_cast<std::size_t>(most_pixels.get()), upright},
                           [&](PictureShape shape) {
                               made = make_picture(picture, shape);
                               return edit_rows(made);
                           });
        } catch (const PictureError& error) {
            throw PictureError(who() + error.what());
        } catch (const std::bad_alloc&) {
            throw PictureError(who() + "there is no memory for this picture: read it in tiles (`read-slide`)");
        }
        picture.write(std::move(made));
    }
};

struct EncodePicture {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> bytes{"bytes"};
    Setting<std::string> format{
        "format",
        "jpeg",
        {.choices = {"jpeg", "png", "tiff", "pnm"}, .doc = "Of the files. pnm: PGM where it is grey, PPM else."}};
    Setting<int> quality{"quality", 90, {.least = 1, .most = 100, .doc = "Of JPEG."}};

    void operator()() {
        const auto read = picture.read();
        const auto at = std::ranges::find(picture_formats, format.get()) - std::begin(picture_formats);
        const auto made =
            encode_picture(rows_of(read), shape_of(read).channels, static_cast<PictureFormat>(at), quality);
        auto file = bytes.make(made.size());
        std::ranges::copy(made, file.edit().begin());
        bytes.write(std::move(file));
    }
};

}  // namespace

void add_files(Components& components) {
    components.add<ReadFiles>(
        "read-files", "The bytes of a file, or of each file of a folder, by name; user[0] is the file's number.");
    components.add<WriteFiles>(
        "write-files", "Each buffer of bytes as a file of its own in a folder; each appears when it is complete.");
    components.add<DecodePicture>("decode-picture", "JPEG, PNG, TIFF, PGM or PPM to RGB: rows x columns x 3 bytes.");
    components.add<EncodePicture>("encode-picture", "A picture of 1 or 3 channels as the bytes of a file.");
}

}  // namespace penstock::components
