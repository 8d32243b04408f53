// Between which processors stores are measured: from the caller's to this one.
#pragma once

#include <optional>

namespace penstock {

/// A processor for the reader: of another core where there is one. None where there is only one processor.
std::optional<int> reader_processor();

}  // namespace penstock
