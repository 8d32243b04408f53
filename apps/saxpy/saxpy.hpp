// SAXPY, y := a x + y, in parts of 32 x 64 elements: a stream over memory with two operations an element.
#pragma once

#include <cstddef>
#include <span>

#include "apps/report.hpp"
#include "apps/team.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps::saxpy {

/// The scalar of the gallery's run.
inline constexpr float factor = 1.7f;

/// One thread, one sweep.
void serial(std::span<const float> x, std::span<float> y, float a);

/// Each thread of the team sweeps one contiguous share. Returns seconds.
double hand(std::span<const float> x, std::span<float> y, float a, Team& team);

/// One tagged call for each `part` elements, then a barrier.
void tagged(std::span<const float> x, std::span<float> y, float a, std::size_t part, Machine& machine);

/// As few calls as there are workers, each on a long part; the runtime chooses them. Waits for all.
void split(std::span<const float> x, std::span<float> y, float a, Machine& machine);

/// The largest error of result = a x + y, in units in the last place of the largest of |a x|, |y| and |result|.
double error_in_ulps(std::span<const float> x, std::span<const float> y, float a, std::span<const float> result);

/// The application for the gallery. Settings: columns (elements, 2^20), block_columns (elements of a task, 2048), seed.
/// Inputs "x" and "y" (float32). Arrays kept: "x", "y" and "result".
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::saxpy
