// What a program asks of the system, each of which this test program can refuse (refusals.cpp).
#pragma once

namespace exhaustion {

enum class Kind { memory, mapping, thread, descriptor, space, fork };
inline constexpr int kinds = 6;
const char* name_of(Kind kind);

/// From now on requests of this kind are counted from 0, and those from `first` on are refused, `count` of them.
void refuse(Kind kind, long first, long count);
/// The same for requests of the calling thread only, one of which is refused.
void refuse_here(Kind kind, long which);
/// None is refused any more. How many were asked for since refuse().
long allow();

inline constexpr long never = 1'000'000'000;

}  // namespace exhaustion
