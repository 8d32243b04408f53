// Affinity masks as lists of processor indices, for machines of any size.
#pragma once

#include <vector>

namespace penstock::affinity {

/// The processors that any thread of this process may run on, or could when the library was loaded, ascending: whoever
/// asks first may be pinned already (by the program itself, or by OpenMP, which pins the main thread).
std::vector<int> of_this_process();

}  // namespace penstock::affinity
