// Binary PGM and PPM of 8 or 16 bits.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "components/files/picture_file.hpp"

namespace penstock::components {
namespace {

/// The next number of a header, behind white space and comments.
std::size_t number_in(FileBytes file, std::size_t& at) {
    while (at < file.size() && (std::isspace(file[at]) != 0 || file[at] == '#')) {
        if (file[at] == '#')
            while (at < file.size() && file[at] != '\n') ++at;
        else ++at;
    }
    std::size_t value = 0, digits = 0;
    for (; at < file.size() && std::isdigit(file[at]) != 0 && digits < 9; ++at, ++digits)
        value = 10 * value + static_cast<std::size_t>(file[at] - '0');
    if (digits == 0) throw PictureError("a PNM picture has no complete header");
    return value;
}

}  // namespace

void decode_pnm(FileBytes file, std::size_t most_pixels, const PictureRoom& room) {
    const std::size_t channels = file[1] == '6' ? 3 : 1;
    std::size_t at = 2;
    const auto columns = number_in(file, at), rows = number_in(file, at), most = number_in(file, at);
    ++at;
    if (most == 0 || most > 65535) throw PictureError("a PNM picture has a largest value that is not 1 to 65535");
    require_size(rows, columns, most_pixels);
    const std::size_t bytes = most > 255 ? 2 : 1, values = rows * columns * channels;
    if (at > file.size() || file.size() - at < values * bytes)
        throw PictureError("a PNM picture ends before its last pixel");
    const auto rgb = room({rows, columns, 3});
    for (std::size_t i = 0; i < rows; ++i) {
        const auto to = rgb.row(i);
        for (std::size_t j = 0; j < columns * 3; ++j) {
            const std::size_t from = at + bytes * (i * columns * channels + (channels == 3 ? j : j / 3));
            const std::size_t value = bytes == 1 ? file[from] : std::size_t{file[from]} << 8 | file[from + 1];
            to[j] = static_cast<std::uint8_t>(most == 255 ? value : (std::min(value, most) * 255 + most / 2) / most);
        }
    }
}

std::vector<std::uint8_t> encode_pnm(view<const std::uint8_t, 2> pixels, std::size_t channels) {
    const auto head = std::string(channels == 3 ? "P6\n" : "P5\n") + std::to_string(pixels.extent(1) / channels) + " " +
                      std::to_string(pixels.extent(0)) + "\n255\n";
    std::vector<std::uint8_t> made(head.begin(), head.end());
    for (std::size_t i = 0; i < pixels.extent(0); ++i) {
        const auto row = pixels.row(i);
        made.insert(made.end(), row.begin(), row.end());
    }
    return made;
}

}  // namespace penstock::components
