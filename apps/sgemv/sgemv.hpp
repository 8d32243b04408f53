// SGEMV, y := alpha A x + beta y, a task for every few rows: one long stream (A) and one vector that all tasks read
// (x).
#pragma once

#include <cstddef>
#include <span>

#include "apps/report.hpp"
#include "apps/team.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps::sgemv {

/// The scalars of the gallery's run.
inline constexpr float alpha = 1.5f;
inline constexpr float beta = 0.5f;

/// A row-major without gaps (y.size() x x.size()); one thread, one sweep.
void serial(std::span<const float> a, std::span<const float> x, std::span<float> y);

/// Each thread of the team takes one contiguous share of the rows. Returns seconds.
double hand(std::span<const float> a, std::span<const float> x, std::span<float> y, Team& team);

/// One tagged call for each `rows` rows, then a barrier.
void tagged(std::span<const float> a, std::span<const float> x, std::span<float> y, std::size_t rows, Machine& machine);

/// As few calls as there are workers, each on a long part; the runtime chooses them. Waits for all.
void split(std::span<const float> a, std::span<const float> x, std::span<float> y, Machine& machine);

/// The largest error of a result against double precision, relative to |alpha| |A| |x| + |beta| |y|.
double relative_error(std::span<const float> a, std::span<const float> x, std::span<const float> y,
                      std::span<const float> result);

/// The application for the gallery. Settings: rows (2048), columns (2048), block_rows (rows of a task, 16), seed.
/// Inputs "A" (rows x columns), "x" and "y" (float32). Arrays kept: "A", "x", "y" and "result".
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::sgemv
