#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "apps/h264/film.hpp"

namespace penstock::apps::h264 {
namespace {

constexpr std::size_t most_header = 1024;

}  // namespace

FilmReader::FilmReader(const std::string& path, Size raw_size, Rate raw_rate)
    : path_{path}, raw_{!path.ends_with(".y4m")}, coded_{raw_size}, rate_{raw_rate} {
    errno = 0;
    file_.open(path, std::ios::binary);
    if (!file_.is_open()) throw SystemError("cannot read the file '" + path + "'", errno != 0 ? errno : EIO);
    if (!raw_) read_header();
    if (raw_ && (coded_.columns == 0 || coded_.rows == 0))
        throw UsageError("h264: '" + path + "' holds raw pictures: say how many columns and rows they have");
    if (coded_.columns < 2 || coded_.rows < 2 || coded_.columns > Size::most || coded_.rows > Size::most)
        refuse("has pictures of " + std::to_string(coded_.columns) + " x " + std::to_string(coded_.rows) +
               " pixels; sides must be from 2 to " + std::to_string(Size::most));
    size_ = {(coded_.columns + 1) / 2 * 2, (coded_.rows + 1) / 2 * 2};
}

void FilmReader::refuse(const std::string& why) const { throw FilmError("the film '" + path_ + "' " + why); }

// A line without its end. One that is longer than `most` is none.
std::string FilmReader::line(const char* what, std::size_t most) {
    std::string line;
    for (int byte = file_.get(); byte != '\n'; byte = file_.get()) {
        if (byte == std::ifstream::traits_type::eof()) refuse(std::string("ends in ") + what);
        if (line.size() == most) refuse(std::string("has no end of line in ") + what);
        line.push_back(static_cast<char>(byte));
    }
    return line;
}

void FilmReader::read_header() {
    const std::string header = line("its header", most_header);
    if (!header.starts_with("YUV4MPEG2 "))
        refuse("is no YUV4MPEG2: its first word is '" + header.substr(0, header.find(' ')).substr(0, 20) + "'");
    for (std::size_t at = header.find(' '); at != header.npos;) {
        const std::size_t end = header.find(' ', ++at);
        const std::string parameter = header.substr(at, end == header.npos ? end : end - at);
        if (!parameter.empty()) take_parameter(parameter);
        at = end;
    }
    if (coded_.columns == 0 || coded_.rows == 0) refuse("has a header without W (columns) or H (rows)");
}

void FilmReader::take_parameter(const std::string& parameter) {
    const auto number = [&](std::string_view text, auto least, auto most) {
        auto value = least;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
            refuse("has '" + parameter.substr(0, 40) + "' in its header; it must be from " + std::to_string(least) +
                   " to " + std::to_string(most));
        return value;
    };
    const std::string_view value = std::string_view(parameter).substr(1);
    switch (parameter[0]) {
        case 'W':
            coded_.columns = number(value, 1, Size::most);
            return;
        case 'H':
            coded_.rows = number(value, 1, Size::most);
            return;
        case 'F': {
            const std::size_t colon = value.find(':');
            if (colon == value.npos)
                refuse("has the rate '" + parameter.substr(0, 40) + "', which is no fraction such as F25:1");
            rate_ = {number(value.substr(0, colon), 0u, 1u << 30), number(value.substr(colon + 1), 0u, 1u << 30)};
            if (rate_.pictures == 0 || rate_.seconds == 0) rate_ = {};  // not known
            return;
        }
        case 'I':
            if (value != "p" && value != "?")
                refuse("is interlaced ('" + parameter.substr(0, 40) + "'); only whole frames (Ip) are encoded");
            return;
        case 'C':
            if (value != "420" && value != "420jpeg" && value != "420mpeg2" && value != "420paldv")
                refuse("has colours as '" + parameter.substr(0, 40) + "'; only 8 bits of 4:2:0 (C420) are encoded");
            return;
        default:
            return;  // shape of pixels, comments
    }
}

// Gives whether there is one more.
bool FilmReader::read_frame_header() {
    if (file_.peek() == std::ifstream::traits_type::eof()) return false;
    const std::string header = line("the header of a picture", most_header);
    if (header != "FRAME" && !header.starts_with("FRAME "))
        refuse("has '" + header.substr(0, 20) + "' where picture " + std::to_string(count_) + " should begin");
    return true;
}

bool FilmReader::read(std::vector<std::uint8_t>& picture) {
    if (raw_ ? file_.peek() == std::ifstream::traits_type::eof() : !read_frame_header()) return false;
    auto& bytes = size_ == coded_ ? picture : odd_;
    bytes.resize(coded_.bytes());
    file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (const auto got = static_cast<std::size_t>(file_.gcount()); got != bytes.size())
        refuse("ends in picture " + std::to_string(count_) + ", of which it has " + std::to_string(got) + " of " +
               std::to_string(bytes.size()) + " bytes");
    ++count_;
    if (size_ == coded_) return true;
    // Chrominance has as many columns and rows already.
    picture.resize(size_.bytes());
    const auto from = static_cast<std::size_t>(coded_.columns), to = static_cast<std::size_t>(size_.columns);
    for (std::size_t row = 0; row < static_cast<std::size_t>(size_.rows); ++row) {
        const auto* source = odd_.data() + std::min(row, static_cast<std::size_t>(coded_.rows) - 1) * from;
        std::memcpy(picture.data() + row * to, source, from);
        picture[row * to + to - 1] = source[from - 1];
    }
    const std::size_t luma = from * static_cast<std::size_t>(coded_.rows);
    std::copy(odd_.begin() + static_cast<std::ptrdiff_t>(luma), odd_.end(),
              picture.begin() + static_cast<std::ptrdiff_t>(to * static_cast<std::size_t>(size_.rows)));
    return true;
}

}  // namespace penstock::apps::h264
