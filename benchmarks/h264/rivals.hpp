// The macroblocks of the same encoder in the order of a wavefront, by threads and flags of one's own, by OpenMP and by
// oneTBB.
#pragma once

#include "apps/h264/sequence.hpp"

namespace bench {

/// Two threads or more take rows of macroblocks in turn. Each waits, spinning, for how far the row above is, and for
/// the pictures that it refers to; several pictures are under way.
void by_hand(const penstock::apps::h264::Job& job, int threads);

#if defined(_OPENMP)
/// Tasks of some macroblocks side by side with `depend` clauses, picture after picture.
void by_openmp_tasks(const penstock::apps::h264::Job& job, int macroblocks, int threads);
/// A loop over each diagonal of macroblocks.
void by_openmp_diagonals(const penstock::apps::h264::Job& job, int threads);
#endif

#if defined(PENSTOCK_BENCH_TBB)
/// Tasks of some macroblocks side by side, each begun by the last of the two that it waits for, picture after picture.
void by_onetbb(const penstock::apps::h264::Job& job, int macroblocks);
#endif

}  // namespace bench
