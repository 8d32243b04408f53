#include "apps/files.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <string_view>
#include <type_traits>

#include "penstock/error.hpp"
#if defined(PENSTOCK_APPS_JPEG)
#include "apps/jpeg.hpp"
#endif

namespace penstock::apps {
namespace {

static_assert(std::endian::native == std::endian::little,
              "files hold numbers with the lowest byte first, and are read as they are");

std::string bytes_of(const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || file.bad())
        throw SystemError("cannot read the file '" + path + "'", errno != 0 ? errno : EIO);
    return bytes;
}

void write_bytes(const std::string& path, const std::string& head, const void* values, std::size_t bytes) {
    errno = 0;
    std::ofstream file(path, std::ios::binary);
    file.write(head.data(), static_cast<std::streamsize>(head.size()));
    file.write(static_cast<const char*>(values), static_cast<std::streamsize>(bytes));
    if (!file.flush()) throw SystemError("cannot write the file '" + path + "'", errno != 0 ? errno : EIO);
}

template <class T>
std::string type_in_words() {
    return std::is_same_v<T, std::uint8_t>    ? "|u1"
           : std::is_same_v<T, std::uint32_t> ? "<u4"
           : std::is_same_v<T, float>         ? "<f4"
                                              : "<f8";
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw UsageError("the file '" + path + "' " + why);
}

/// What stands behind a key of the header, which is a dictionary as Python writes it.
std::string after(const std::string& header, const std::string& key, const std::string& path) {
    const auto at = header.find("'" + key + "':");
    if (at == header.npos) refuse(path, "has a header without '" + key + "'");
    return header.substr(header.find_first_not_of(' ', at + key.size() + 3));
}

std::size_t product(std::span<const std::size_t> shape) {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

bool ends_with(const std::string& path, const std::string& ending) { return path.ends_with(ending); }

/// The next number of a PNM header, behind white space and comments.
std::size_t number_in(const std::string& bytes, std::size_t& at, const std::string& path) {
    while (at < bytes.size() && (std::isspace(static_cast<unsigned char>(bytes[at])) || bytes[at] == '#'))
        at = bytes[at] == '#' ? std::min(bytes.find('\n', at), bytes.size()) : at + 1;
    std::size_t value = 0, digits = 0;
    for (; at < bytes.size() && std::isdigit(static_cast<unsigned char>(bytes[at])) && digits < 6; ++at, ++digits)
        value = 10 * value + static_cast<std::size_t>(bytes[at] - '0');
    if (digits == 0) refuse(path, "has no complete PNM header");
    return value;
}

Picture ppm_picture(const std::string& bytes, const std::string& path) {
    if (!bytes.starts_with("P6")) refuse(path, "is no binary PPM: save it as P6");
    std::size_t at = 2;
    const auto columns = number_in(bytes, at, path), rows = number_in(bytes, at, path),
               most = number_in(bytes, at, path);
    ++at;
    if (most != 255) refuse(path, "has not 8 bits a colour");
    if (rows == 0 || columns == 0 || at > bytes.size() || bytes.size() - at < rows * columns * 3)
        refuse(path, "ends before its last pixel");
    Picture picture{rows, columns};
    std::memcpy(picture.rgb.data(), bytes.data() + at, rows * columns * 3);
    return picture;
}

Picture jpeg_picture(const std::string& bytes, [[maybe_unused]] const std::string& path) {
#if defined(PENSTOCK_APPS_JPEG)
    const std::span jpeg{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
    JpegDecoder decoder;
    const PictureSize size = decoder.size(jpeg);
    Picture picture{size.rows, size.columns};
    decoder.decode(jpeg, picture.all());
    return picture;
#else
    (void)bytes;
    refuse(path, "is JPEG, and this Penstock was built without libjpeg-turbo: save it as .ppm or .npy");
#endif
}

}  // namespace

template <class T>
FileArray<T> read_array(const std::string& path) {
    const auto bytes = bytes_of(path);
    constexpr std::string_view magic{"\x93NUMPY", 6};
    if (!bytes.starts_with(magic) || bytes.size() < 12) refuse(path, "is no .npy file of NumPy");
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])); };
    const bool first_version = byte(6) == 1;
    const std::size_t length =
        first_version ? byte(8) + 256 * byte(9) : byte(8) + 256 * (byte(9) + 256 * (byte(10) + 256 * byte(11)));
    const std::size_t begin = first_version ? 10 : 12;
    if (length > bytes.size() - begin) refuse(path, "ends within its header");
    const auto header = bytes.substr(begin, length);
    if (const auto type = after(header, "descr", path); !type.starts_with("'" + type_in_words<T>() + "'"))
        refuse(path, "holds elements of type " + type.substr(0, type.find(',')) + ", and should hold '" +
                         type_in_words<T>() + "'");
    if (!after(header, "fortran_order", path).starts_with("False"))
        refuse(path, "holds columns first: save it rows first (numpy.ascontiguousarray)");
    FileArray<T> array;
    const auto shape = after(header, "shape", path);
    for (std::size_t at = 1; at < shape.size() && shape[at] != ')';) {
        if (std::isdigit(static_cast<unsigned char>(shape[at])) == 0) {
            ++at;
            continue;
        }
        std::size_t side = 0;
        for (; at < shape.size() && std::isdigit(static_cast<unsigned char>(shape[at])) != 0 &&
               side < (std::size_t{1} << 40);
             ++at)
            side = 10 * side + static_cast<std::size_t>(shape[at] - '0');
        array.shape.push_back(side);
        if (side > bytes.size()) refuse(path, "holds fewer elements than its shape says");
    }
    const std::size_t room = (bytes.size() - begin - length) / sizeof(T);
    std::size_t elements = 1;
    for (const auto side : array.shape) {
        if (side != 0 && elements > room / side) refuse(path, "holds fewer elements than its shape says");
        elements *= side;
    }
    array.values.resize(elements);
    std::memcpy(array.values.data(), bytes.data() + begin + length, elements * sizeof(T));
    return array;
}

template <class T>
void write_array(const std::string& path, std::span<const std::size_t> shape, std::span<const T> values) {
    std::string header = "{'descr': '" + type_in_words<T>() + "', 'fortran_order': False, 'shape': (";
    for (const auto side : shape) header += std::to_string(side) + ", ";
    header += "), }";
    header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10, ' ');  // the elements begin at a multiple of 64
    header.back() = '\n';
    std::string head{"\x93NUMPY\x01\x00", 8};
    head += static_cast<char>(header.size() % 256);
    head += static_cast<char>(header.size() / 256);
    write_bytes(path, head + header, values.data(), product(shape) * sizeof(T));
}

template FileArray<std::uint8_t> read_array(const std::string&);
template FileArray<std::uint32_t> read_array(const std::string&);
template FileArray<float> read_array(const std::string&);
template FileArray<double> read_array(const std::string&);
template void write_array(const std::string&, std::span<const std::size_t>, std::span<const std::uint8_t>);
template void write_array(const std::string&, std::span<const std::size_t>, std::span<const std::uint32_t>);
template void write_array(const std::string&, std::span<const std::size_t>, std::span<const float>);
template void write_array(const std::string&, std::span<const std::size_t>, std::span<const double>);

Picture read_picture(const std::string& path) {
    if (ends_with(path, ".jpg") || ends_with(path, ".jpeg")) return jpeg_picture(bytes_of(path), path);
    if (ends_with(path, ".ppm")) return ppm_picture(bytes_of(path), path);
    if (!ends_with(path, ".npy")) refuse(path, "is of no kind that is known here: give a .npy, a .ppm or a .jpg");
    const auto array = read_array<std::uint8_t>(path);
    if (array.shape.size() != 3 || array.shape[2] != 3 || array.values.empty())
        refuse(path, "holds no picture: rows x columns x 3 bytes");
    Picture picture{array.shape[0], array.shape[1]};
    std::ranges::copy(array.values, picture.rgb.span().begin());
    return picture;
}

void write_picture(const std::string& path, const Picture& picture) {
    const std::size_t shape[] = {picture.rows, picture.columns, 3};
    if (ends_with(path, ".npy")) return write_array<std::uint8_t>(path, shape, picture.rgb.span());
    if (!ends_with(path, ".ppm")) refuse(path, "has an ending that no picture is written with: say .npy or .ppm");
    write_bytes(path, "P6\n" + std::to_string(picture.columns) + " " + std::to_string(picture.rows) + "\n255\n",
                picture.rgb.data(), picture.rgb.size());
}

Picture picture_from(const std::string& path, std::size_t rows, std::size_t columns, std::uint32_t seed) {
    if (path.empty()) return spots(rows, columns, seed);
    const auto picture = read_picture(path);
    return mirrored(picture.all(), rows, columns);
}

}  // namespace penstock::apps
