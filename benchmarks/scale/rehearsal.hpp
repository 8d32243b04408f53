// Applications whose bodies sleep for their recorded time, stretched, while all the rest is the real runtime: tasks and
// their order, streams, copies, credits and claims. So many workers may be rehearsed on a few processors; nothing is
// said about memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "penstock/machine.hpp"
#include "scale/recorded.hpp"

namespace bench {

/// One application for one number of workers.
struct Rehearsal {
    std::string name;
    /// No schedule is faster: max(work / workers, critical path, service / copies), in ns.
    double bound = 0;
    std::size_t bodies = 0;                              ///< how many sleep
    std::function<double(penstock::Machine&)> run = {};  ///< ns; throws when another number of bodies ran
};

/// Sleeps for so many ns, and no longer than the kernel makes it.
void nap(double nanoseconds);

/// LU's tasks for so many blocks a side, ordered by their tags. The shortest is stretched to `least` ns.
Rehearsal rehearse_lu(const LuTimes& times, std::size_t blocks, int workers, double least);
/// The graph of the tissue analysis for so many tiles, a copy of each copied filter for each worker. All that is done
/// to a tile is stretched to `tile` ns.
Rehearsal rehearse_tissue(const TissueTimes& times, std::size_t tiles, int workers, double tile);
/// JPiP's graph for so many mosaics of sixteen files, each file stretched to `file` ns.
Rehearsal rehearse_jpip(const JpipTimes& times, std::size_t frames, int workers, double file);
/// So many calls that last `least` to eight times as long, in no order.
Rehearsal rehearse_uneven(std::size_t jobs, int workers, double least);

}  // namespace bench
