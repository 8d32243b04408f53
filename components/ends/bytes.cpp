// Raw bytes of files, standard streams and sockets, and pictures that come as such.
#include <memory>
#include <tuple>

#include "components/classes.hpp"
#include "components/files/endpoint.hpp"
#include "components/picture.hpp"
#include "penstock/components.hpp"

namespace penstock::components {
namespace {

constexpr const char* addresses =
    "A path, - (standard input or output), tcp:HOST:PORT, tcp-listen:HOST:PORT, unix:PATH or unix-listen:PATH.";

std::chrono::nanoseconds seconds(double count) {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(count * 1e9));
}

/// Waits a while for bytes, and ends its firing if there are none: so it ends when the run is closed.
struct ReadBytes {
    Output<std::uint8_t> bytes{"bytes"};
    Setting<std::string> from{"from", "", {.doc = addresses}};
    Setting<std::int64_t> block{
        "block",
        1 << 16,
        {.unit = "bytes", .least = 1, .most = 1 << 30, .doc = "Of each buffer; the last one may have fewer."}};
    Setting<double> patience{
        "patience",
        10,
        {.unit = "s", .least = 0, .most = 86400, .doc = "How long somebody who listens may take to be there."}};

    bool operator()() {
        if (end_ == nullptr) end_ = std::make_unique<Endpoint>(from, Endpoint::Direction::read, seconds(patience));
        const auto wanted = static_cast<std::size_t>(block.get());
        if (!filling_) filling_ = bytes.make(wanted), there_ = 0;
        const auto room = std::as_writable_bytes(filling_.edit());
        while (there_ < wanted) {
            if (!end_->ready(std::chrono::milliseconds(50))) return true;
            const auto got = end_->read(room.subspan(there_));
            there_ += got;
            if (got != 0) continue;
            if (there_ == 0) return false;
            filling_.resize(there_);
            send();
            return false;
        }
        send();
        return true;
    }

  private:
    void send() {
        filling_.edit_tags() = {.sequence = count_, .time = 0, .user = {count_, 0}};
        ++count_;
        bytes.write(std::move(filling_));
    }
    std::unique_ptr<Endpoint> end_;
    Buffer<std::uint8_t> filling_;
    std::size_t there_ = 0;
    std::uint64_t count_ = 0;
};

struct WriteBytes {
    Input<std::uint8_t> bytes{"bytes"};
    Setting<std::string> to{"to", "", {.doc = addresses}};
    Setting<double> patience{"patience",
                             10,
                             {.unit = "s",
                              .least = 0,
                              .most = 86400,
                              .doc = "How long somebody who listens, or who is to connect, may take to be there."}};

    void start() { end_ = std::make_unique<Endpoint>(to, Endpoint::Direction::write, seconds(patience)); }
    void operator()() {
        const auto read = bytes.read();
        end_->write(std::as_bytes(read.span()));
    }
    void finish() { end_->finish(); }

  private:
    std::unique_ptr<Endpoint> end_;
};

struct Frames {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> bytes{"bytes"};
    Output<std::uint8_t> picture{"picture"};
    Setting<int> rows{"rows", 480, {.unit = "pixels", .least = 1, .most = 1 << 16}};
    Setting<int> columns{"columns", 640, {.unit = "pixels", .least = 1, .most = 1 << 16}};
    Setting<int> channels{"channels", 3, {.least = 1, .most = 4, .doc = "Bytes of a pixel."}};

    void operator()() {
        const auto read = bytes.read();
        const auto side = [](int given) { return static_cast<std::size_t>(given); };
        const PictureShape shape{side(rows), side(columns), side(channels)};
        const auto wanted = shape.pixels() * shape.channels;
        if (read.size() != wanted)
            throw UsageError("a picture of " + text_of(shape) + " has " + std::to_string(wanted) + " bytes, and " +
                             std::to_string(read.size()) +
                             " came: is the source's `block` as long as a picture? Did the sender close within one?");
        auto made = make_picture(picture, shape);
        std::ranges::copy(read.span(), made.edit().begin());
        picture.write(std::move(made));
    }
};

struct Flatten {
    static constexpr bool may_be_copied = true;
    Input<std::uint8_t> picture{"picture"};
    Output<std::uint8_t> bytes{"bytes"};
    void operator()() {
        auto read = picture.read();
        read.resize(read.size());
        bytes.write(std::move(read));
    }
};

}  // namespace

void add_bytes(Components& components) {
    components.add<ReadBytes>("read-bytes", "Raw bytes of a file, of standard input or of a socket, in blocks.");
    components.add<WriteBytes>("write-bytes",
                               "Buffers of bytes one behind the other into a file, standard output or a socket; a file "
                               "appears when it is complete.");
    components.add<Frames>("frames", "Blocks of bytes as pictures: rows x columns x channels.");
    components.add<Flatten>("flatten", "A picture as its bytes.");
}

}  // namespace penstock::components
