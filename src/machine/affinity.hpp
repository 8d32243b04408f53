// Affinity masks as lists of processor indices, for machines of any size.
#pragma once

#include <vector>

namespace penstock::affinity {

/// The processors that any thread of this process may run on, ascending. A union over the threads, because whoever asks
/// first may be pinned already (OpenMP pins the main thread).
std::vector<int> of_this_process();

/// Lets the calling thread run on these only. False when the system refuses.
bool set_for_this_thread(const std::vector<int>& processors);

}  // namespace penstock::affinity
