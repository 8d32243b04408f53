// How far away the reader is just now. Virtual processors move: what was measured between two of one chip is wrong when
// they lie on two (4 to 16 KiB were seen to arrive 2 times later past the caches than plainly, and minutes later 3.5
// times sooner).
#pragma once

#include <optional>

namespace penstock {

/// Stores are measured from the caller's processor to this one: of another core where there is one. None where there is
/// only one processor.
std::optional<int> reader_processor();

/// Nanoseconds in which a line goes to the reader and an answer comes back; nothing where there is no reader. Costs the
/// start of a thread and some 100 microseconds.
std::optional<double> measure_round_trip();

}  // namespace penstock
