#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <string_view>

#include "apps/h264/film.hpp"

namespace penstock::apps::h264 {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Boxes of an MP4 file (ISO/IEC 14496-12): a size, four letters, and what is in it.
class Box {
  public:
    explicit Box(std::string_view name) : bytes_(4) { bytes_.insert(bytes_.end(), name.begin(), name.end()); }
    /// With a version and flags.
    Box(std::string_view name, std::uint32_t version_and_flags) : Box{name} { put32(version_and_flags); }

    Box& put8(std::uint32_t value) {
        bytes_.push_back(static_cast<std::uint8_t>(value));
        return *this;
    }
    Box& put16(std::uint32_t value) { return put8(value >> 8).put8(value); }
    Box& put32(std::uint64_t value) {
        return put16(static_cast<std::uint32_t>(value >> 16)).put16(static_cast<std::uint32_t>(value));
    }
    Box& put64(std::uint64_t value) { return put32(value >> 32).put32(value); }
    Box& zeros(std::size_t count) {
        bytes_.insert(bytes_.end(), count, 0);
        return *this;
    }
    Box& put(const Bytes& bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return *this;
    }
    Box& put(const Box& box) { return put(box.bytes()); }
    Box& text(std::string_view text) {
        bytes_.insert(bytes_.end(), text.begin(), text.end());
        return *this;
    }
    Bytes bytes() const {
        Bytes all = bytes_;
        for (std::size_t i = 0; i < 4; ++i) all[i] = static_cast<std::uint8_t>(all.size() >> (24 - 8 * i));
        return all;
    }

  private:
    Bytes bytes_;
};

Box& matrix(Box& box) {
    for (const std::uint32_t value : {0x10000u, 0u, 0u, 0u, 0x10000u, 0u, 0u, 0u, 0x40000000u}) box.put32(value);
    return box;
}

constexpr std::uint32_t box_header = 16;  // of mdat, whose size has 64 bits
const Bytes file_type = Box("ftyp").text("isom").put32(0x200).text("isomiso2avc1mp41").bytes();

/// Runs of equal values: how many, which.
template <class Values>
Box runs(std::string_view name, std::uint32_t flags, const Values& values) {
    std::vector<std::array<std::uint64_t, 2>> runs;
    for (const std::uint64_t value : values) {
        if (runs.empty() || runs.back()[1] != value) runs.push_back({0, value});
        ++runs.back()[0];
    }
    Box box{name, flags};
    box.put32(runs.size());
    for (const auto& run : runs) box.put32(run[0]).put32(run[1]);
    return box;
}

}  // namespace

StreamWriter::StreamWriter(const std::string& path, Size size, Rate rate, const EncoderSettings& settings)
    : path_{path}, mp4_{path.ends_with(".mp4")}, size_{size}, rate_{rate}, settings_{settings} {
    errno = 0;
    file_.open(path, std::ios::binary);
    if (!file_.is_open()) throw SystemError("cannot write the file '" + path + "'", errno != 0 ? errno : EIO);
    if (!mp4_) return;
    put(file_type.data(), file_type.size());
    const Bytes open = Box("mdat").bytes();
    Bytes header = open;
    header[3] = 1;  // the size follows
    header.resize(box_header);
    put(header.data(), header.size());
}

void StreamWriter::put(const std::uint8_t* bytes, std::size_t count) {
    file_.write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(count));
    bytes_ += count;
}

void StreamWriter::write(const Encoded& picture) {
    Sample sample{0, picture.shown, picture.place.idr};
    for (const Unit& unit : picture.units) {
        const auto kind = unit[0] & 31;
        if (mp4_ && (kind == 7 || kind == 8)) continue;  // stand in the header
        const auto size = static_cast<std::uint32_t>(unit.size());
        const std::uint8_t before[4] = {static_cast<std::uint8_t>(size >> 24), static_cast<std::uint8_t>(size >> 16),
                                        static_cast<std::uint8_t>(size >> 8), static_cast<std::uint8_t>(size)};
        constexpr std::uint8_t start_code[4] = {0, 0, 0, 1};
        put(mp4_ ? before : start_code, 4);
        put(unit.data(), unit.size());
        sample.bytes += 4 + size;
    }
    if (mp4_) samples_.push_back(sample);
}

void StreamWriter::finish() {
    const std::uint64_t data = bytes_ - file_type.size();
    if (mp4_) {
        const Unit sequence = sequence_parameters(size_, rate_, settings_), pictures = picture_parameters();
        const std::uint64_t length = samples_.size() * std::uint64_t{rate_.seconds};
        // Pictures that are shown later than they come: all are shown one picture later, so that none is too late.
        const std::uint32_t late = settings_.b_pictures > 0 ? rate_.seconds : 0;
        Box configuration{"avcC"};
        configuration.put8(1).put8(sequence[1]).put8(sequence[2]).put8(sequence[3]).put8(0xff).put8(0xe1);
        configuration.put16(static_cast<std::uint32_t>(sequence.size())).put(sequence).put8(1);
        configuration.put16(static_cast<std::uint32_t>(pictures.size())).put(pictures);
        Box entry{"avc1"};
        entry.zeros(6).put16(1).zeros(16);
        entry.put16(static_cast<std::uint32_t>(size_.columns)).put16(static_cast<std::uint32_t>(size_.rows));
        entry.put32(0x480000).put32(0x480000).put32(0).put16(1).zeros(32).put16(24).put16(0xffff).put(configuration);

        Box table{"stbl"};
        table.put(Box("stsd", 0).put32(1).put(entry));
        table.put(runs("stts", 0, std::vector<std::uint64_t>(samples_.size(), rate_.seconds)));
        if (late != 0) {
            std::vector<std::uint64_t> offsets;
            for (std::size_t i = 0; i < samples_.size(); ++i)
                offsets.push_back((samples_[i].shown + 1 - i) * rate_.seconds);
            table.put(runs("ctts", 0, offsets));
        }
        Box keys{"stss", 0};
        keys.put32(static_cast<std::uint64_t>(std::ranges::count(samples_, true, &Sample::idr)));
        for (std::size_t i = 0; i < samples_.size(); ++i)
            if (samples_[i].idr) keys.put32(i + 1);
        table.put(keys);
        // All pictures are one chunk.
        table.put(Box("stsc", 0)
                      .put32(samples_.empty() ? 0 : 1)
                      .put(samples_.empty() ? Bytes()
                                            : Bytes{0, 0, 0, 1, static_cast<std::uint8_t>(samples_.size() >> 24),
                                                    static_cast<std::uint8_t>(samples_.size() >> 16),
                                                    static_cast<std::uint8_t>(samples_.size() >> 8),
                                                    static_cast<std::uint8_t>(samples_.size()), 0, 0, 0, 1}));
        Box sizes{"stsz", 0};
        sizes.put32(0).put32(samples_.size());
        for (const Sample& sample : samples_) sizes.put32(sample.bytes);
        table.put(sizes);
        Box chunks{"co64", 0};
        chunks.put32(samples_.empty() ? 0 : 1);
        if (!samples_.empty()) chunks.put64(file_type.size() + box_header);
        table.put(chunks);

        Box information{"minf"};
        information.put(Box("vmhd", 1).zeros(8));
        information.put(Box("dinf").put(Box("dref", 0).put32(1).put(Box("url ", 1))));
        information.put(table);
        Box media{"mdia"};
        media.put(Box("mdhd", 0).zeros(8).put32(rate_.pictures).put32(length).put16(0x55c4).put16(0));
        media.put(Box("hdlr", 0).put32(0).text("vide").zeros(12).text("video").put8(0));
        media.put(information);
        Box header{"tkhd", 3};
        header.zeros(8).put32(1).put32(0).put32(length).zeros(16);
        matrix(header)
            .put32(static_cast<std::uint64_t>(size_.columns) << 16)
            .put32(static_cast<std::uint64_t>(size_.rows) << 16);
        Box track{"trak"};
        track.put(header);
        if (late != 0) track.put(Box("edts").put(Box("elst", 0).put32(1).put32(length).put32(late).put32(0x10000)));
        track.put(media);
        Box film{"mvhd", 0};
        film.zeros(8).put32(rate_.pictures).put32(length).put32(0x10000).put16(0x100).zeros(10);
        matrix(film).zeros(24).put32(2);
        const Bytes all = Box("moov").put(film).put(track).bytes();
        put(all.data(), all.size());
        file_.seekp(static_cast<std::streamoff>(file_type.size() + 8));
        const Bytes size = Box("size").put64(data).bytes();
        file_.write(reinterpret_cast<const char*>(size.data() + 8), 8);
    }
    errno = 0;
    if (!file_.flush()) throw SystemError("cannot write the file '" + path_ + "'", errno != 0 ? errno : EIO);
}

}  // namespace penstock::apps::h264
