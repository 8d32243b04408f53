#include "components/files/npy.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>

#include "penstock/error.hpp"

namespace penstock::components {
namespace {

static_assert(std::endian::native == std::endian::little,
              "files hold numbers with the lowest byte first, and are read as they are");

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
    throw UsageError("the file '" + path + "' " + why);
}

/// What stands behind a key of the header, which is a dictionary as Python writes it.
std::string_view after(std::string_view header, const std::string& key, const std::string& path) {
    const auto at = header.find("'" + key + "':");
    if (at == header.npos) refuse(path, "has a header without '" + key + "'");
    const auto value = header.find_first_not_of(' ', at + key.size() + 3);
    return value == header.npos ? std::string_view() : header.substr(value);
}

bool is_digit(char each) noexcept { return std::isdigit(static_cast<unsigned char>(each)) != 0; }

}  // namespace

NpyHeader npy_header(std::string_view file, std::string_view type, std::size_t element_bytes, const std::string& path) {
    constexpr std::string_view magic{"\x93NUMPY", 6};
    if (!file.starts_with(magic) || file.size() < 12) refuse(path, "is no .npy file of NumPy");
    const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(file[at])); };
    const bool first_version = byte(6) == 1;
    const std::size_t length =
        first_version ? byte(8) + 256 * byte(9) : byte(8) + 256 * (byte(9) + 256 * (byte(10) + 256 * byte(11)));
    NpyHeader made;
    made.begin = first_version ? 10 : 12;
    if (length > file.size() - made.begin) refuse(path, "ends within its header");
    const auto header = file.substr(made.begin, length);
    made.begin += length;
    if (const auto found = after(header, "descr", path); !found.starts_with("'" + std::string(type) + "'"))
        refuse(path, "holds elements of type " + std::string(found.substr(0, found.find(','))) + ", and should hold '" +
                         std::string(type) + "'");
    if (!after(header, "fortran_order", path).starts_with("False"))
        refuse(path, "holds columns first: save it rows first (numpy.ascontiguousarray)");
    const auto shape = after(header, "shape", path);
    for (std::size_t at = 1; at < shape.size() && shape[at] != ')';) {
        if (!is_digit(shape[at])) {
            ++at;
            continue;
        }
        std::size_t side = 0;
        for (; at < shape.size() && is_digit(shape[at]) && side < (std::size_t{1} << 40); ++at)
            side = 10 * side + static_cast<std::size_t>(shape[at] - '0');
        made.shape.push_back(side);
        if (side > file.size() || made.shape.size() > 32) refuse(path, "holds fewer elements than its shape says");
    }
    const std::size_t room = (file.size() - made.begin) / element_bytes;
    made.elements = 1;
    for (const auto side : made.shape) {
        if (side != 0 && made.elements > room / side) refuse(path, "holds fewer elements than its shape says");
        made.elements *= side;
    }
    if (made.elements > room) refuse(path, "holds fewer elements than its shape says");  // one, of no shape
    return made;
}

std::string npy_head(std::string_view type, std::span<const std::size_t> shape, std::size_t room) {
    std::string header = "{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (";
    for (const auto side : shape) header += std::to_string(side) + ", ";
    header += "), }";
    // the elements begin at a multiple of 64
    header.resize(std::max((10 + header.size() + 1 + 63) / 64 * 64, room) - 10, ' ');
    header.back() = '\n';
    std::string head{"\x93NUMPY\x01\x00", 8};
    head += static_cast<char>(header.size() % 256);
    head += static_cast<char>(header.size() / 256);
    return head + header;
}

MappedFile::MappedFile(const std::string& path) {
    const auto fail = [&](int error) { throw SystemError("cannot read the file '" + path + "'", error); };
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) fail(errno);
    struct stat facts{};
    int error = fstat(descriptor, &facts) != 0 ? errno : S_ISDIR(facts.st_mode) ? EISDIR : 0;
    size_ = error == 0 ? static_cast<std::size_t>(facts.st_size) : 0;
    if (size_ != 0) at_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (at_ == MAP_FAILED) error = errno, at_ = nullptr;
    close(descriptor);
    if (error != 0) fail(error);
}

MappedFile::~MappedFile() {
    if (at_ != nullptr) munmap(at_, size_);
}

}  // namespace penstock::components
