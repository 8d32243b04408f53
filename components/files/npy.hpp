// NumPy's .npy: a header in words, and the elements row after row, lowest byte first.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace penstock::components {

/// As a header names the type of elements.
template <class T>
constexpr std::string_view npy_type() {
    if constexpr (std::is_same_v<T, std::uint8_t>) return "|u1";
    else if constexpr (std::is_same_v<T, std::uint32_t>) return "<u4";
    else if constexpr (std::is_same_v<T, float>) return "<f4";
    else if constexpr (std::is_same_v<T, double>) return "<f8";
    else if constexpr (std::is_same_v<T, std::complex<float>>) return "<c8";
    else static_assert(sizeof(T) == 0, "no type of .npy files here");
}

struct NpyHeader {
    std::vector<std::size_t> shape;
    std::size_t begin = 0;     ///< where the elements begin
    std::size_t elements = 0;  ///< the product of the shape
};

/// Of a whole file. Throws UsageError, with the path, for what is no array of this type, for columns first, and for
/// fewer bytes than the shape needs.
NpyHeader npy_header(std::string_view file, std::string_view type, std::size_t element_bytes, const std::string& path);

/// What stands before the elements. `room`: bytes that it has at least, so that a longer shape fits in its place.
std::string npy_head(std::string_view type, std::span<const std::size_t> shape, std::size_t room = 0);

/// A file in memory as long as somebody holds it. Throws SystemError.
class MappedFile {
  public:
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    std::string_view bytes() const noexcept { return {static_cast<const char*>(at_), size_}; }

  private:
    void* at_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace penstock::components
