// Options of streams and filters in words, for drawings and for JSON.
#pragma once

#include <string>

#include "penstock/stream_options.hpp"

namespace penstock::streaming {

const char* text_of(Policy policy) noexcept;
const char* text_of(WhenStreamFull what) noexcept;
/// "2.5 k" for 2500: three digits and a prefix.
std::string short_number(double value);

}  // namespace penstock::streaming
