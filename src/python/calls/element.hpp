// The types of array elements and of scalars that C functions and Python arrays have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::python {

enum class ElementKind : std::uint8_t { boolean, integer, natural, floating, complex, other };

/// `integer` is signed, `natural` is not; `other` is matched by void* only.
struct Element {
    ElementKind kind = ElementKind::other;
    std::uint16_t bytes = 0;

    friend bool operator==(const Element&, const Element&) = default;
};

/// The type with this NumPy name ("float32", "int64", "bool"); `other` for anything else.
Element element_named(std::string_view name) noexcept;
/// NumPy's name of it.
std::string_view name_of(const Element& element) noexcept;
/// The type that a buffer's format string and item size say; `other` for structures and foreign byte order.
Element element_of_format(const char* format, std::size_t item_bytes) noexcept;

}  // namespace penstock::python
