// A shared library with filter classes (penstock/component_library.h), as it was found and understood when it was
// loaded.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "penstock/component_library.h"
#include "penstock/components.hpp"

namespace penstock::language {

struct LibraryClass {
    std::string path;  ///< of the library, absolute
    std::string name, documentation;
    FilterDescription filter;
    std::vector<std::size_t> input_dimensions, output_dimensions;
    penstock_class functions{};
    const penstock_class* table = nullptr;  ///< the library's own, for create()
};

/// Everything in it stays where it is until the process ends.
struct Library {
    std::string path;
    std::vector<std::shared_ptr<const LibraryClass>> classes;
};

/// The library in this file, loaded when it is first asked for. Throws LibraryRefused. Any thread.
const Library& library_at(const std::string& path);

/// What the table says. Throws LibraryRefused.
Library described(const penstock_library& table, const std::string& path);

/// Filters of this class.
std::shared_ptr<const streaming::FilterKind> library_kind(std::shared_ptr<const LibraryClass> of);

/// What a filter must find as it was when its class is loaded again in another process.
std::string text_of(const LibraryClass& of);

}  // namespace penstock::language
