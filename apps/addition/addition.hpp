// Sum of two matrices in tiles of 32 x 64: strided arguments, and hardly any work to hide their cost behind. The same
// by streams of rows, and of buffers of 64 KiB (streams.hpp).
#pragma once

#include <cstddef>

#include "apps/report.hpp"
#include "apps/team.hpp"
#include "apps/tiles.hpp"
#include "penstock/view.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps::addition {

using Source = view<const float, 2>;

/// One thread, row after row.
void serial(Source a, Source b, view<float, 2> sum);

/// Each thread of the team takes a band of whole rows. Returns seconds.
double hand(Source a, Source b, view<float, 2> sum, Team& team);

/// One tagged call for each tile, then a barrier.
void tagged(Source a, Source b, view<float, 2> sum, const Tiling& tiling, Machine& machine);

/// As few calls as there are workers, each on long rows; the runtime chooses them. Waits for all.
void split(Source a, Source b, view<float, 2> sum, Machine& machine);

/// The application for the gallery. Settings: rows (1024), columns (512), block_rows (32), block_columns (64), seed.
/// Inputs "a" and "b" (rows x columns, float32). Arrays kept: "a", "b" and "sum".
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::addition
