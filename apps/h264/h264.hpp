// An H.264 encoder (Baseline; Main with B pictures), in the forms of the papers: tagged calls whose order follows from
// what they touch, and along a wavefront (TPC 4.3); ranks that each have a band of the picture (RSP 4.3); filters.
//
// Every form makes the same bytes as the sequential one: coder.hpp says which steps a macroblock takes and which of its
// neighbours' steps come before; the forms only order them.
#pragma once

#include <string>
#include <vector>

#include "apps/h264/clip.hpp"
#include "apps/h264/sequence.hpp"
#include "apps/report.hpp"

namespace penstock {
class Machine;
}

namespace penstock::apps::h264 {

// Each of these pulls all pictures of a job and pushes them encoded, as serial() does, and throws what it throws.

/// Tagged calls, of so many macroblocks side by side each (0: as many as keep all workers busy), whose order follows
/// from their tags; several pictures at once, as far as they wait for no other. Throws TaskFailed.
void dependent(const Job& job, Machine& machine, int macroblocks = 0);
/// Tagged calls, of one macroblock each, diagonal after diagonal with a barrier behind each, as TPC's port of x264.
void wavefront(const Job& job, Machine& machine);

/// The application for the gallery. Settings: rows and columns (of a made film, 288 x 352, or of raw pictures), seed,
/// and as texts `input` (.y4m, or raw planes), `output` (.264 or .mp4), `pictures` (that are timed; 12) and those of
/// settings.hpp. Inputs: "photograph" (rows x columns x 3, uint8), of which a film is made, or "pictures" (pictures x
/// bytes of one, uint8: planes of luminance and of both colours, for which rows and columns are given). Arrays kept:
/// "pictures", "result" (the bytes of the stream), "decoded" (the pictures as a decoder has them). The whole of `input`
/// is written to `output`, by the last way.
RunResult run(Machine& machine, const Settings& settings, const Progress& progress);

}  // namespace penstock::apps::h264
