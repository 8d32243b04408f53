// Options of streams and filters in words, for drawings and for JSON.
#pragma once

#include <string>

#include "penstock/stream_options.hpp"

namespace penstock::streaming {

const char* text_of(Policy policy) noexcept;
const char* text_of(WhenStreamFull what) noexcept;
/// "2.5 kB" for 2500 and "B": three digits, and the unit with a prefix.
std::string short_number(double value, const std::string& unit);

}  // namespace penstock::streaming
