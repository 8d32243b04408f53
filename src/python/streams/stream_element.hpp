// The element types that streams have in Python: NumPy's names, and what C++ calls them, so that filters of both can be
// joined.
#pragma once

#include <string>
#include <string_view>

#include "penstock/port.hpp"
#include "python/calls/element.hpp"

namespace penstock::python {

struct StreamElement {
    const char* name;  ///< NumPy's
    Element element;
    ElementType type;
};

/// Throws ElementError for a type that streams do not have. What it returns lives for ever.
const StreamElement& stream_element_named(std::string_view name);
/// NumPy's name of a type, or C++'s where NumPy has none.
std::string name_of(const ElementType& type);

}  // namespace penstock::python
