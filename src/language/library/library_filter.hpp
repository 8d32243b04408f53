// A filter whose firings are functions of a shared library.
#pragma once

#include <memory>

#include "language/library/component_library.hpp"
#include "penstock/filter.hpp"

namespace penstock::language {

std::shared_ptr<const streaming::FilterKind> library_kind(std::shared_ptr<const LibraryClass> of);

}  // namespace penstock::language
