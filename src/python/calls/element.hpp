// The types of array elements and of scalars that C functions, streams and Python arrays have in common.
#pragma once

#include "penstock/port.hpp"

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
std::string name_of(const Element& element);
/// The type that a buffer's format string and item size say; `other` for structures and foreign byte order.
Element element_of_format(const char* format, std::size_t item_bytes) noexcept;

/// One type by its names: NumPy's, and C++'s, so that filters of both can be joined.
struct ElementRow {
    const char* name;  ///< NumPy's
    Element element;
    ElementType type;
};
/// Throws ElementError for a type that streams do not have. What it returns lives for ever.
const ElementRow& element_of_streams(std::string_view name);
/// NumPy's name of a type, or C++'s where NumPy has none.
std::string name_of(const ElementType& type);

}  // namespace penstock::python
