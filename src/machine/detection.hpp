// What can be found out about the hardware, and what of it this process may use.
#pragma once

#include "penstock/topology.hpp"

namespace penstock {

struct Detected {
    std::vector<Processor> processors{};  // by index, those that were allowed
    std::string model{};                  // empty when unknown
    std::size_t line_size = 0;            // 0 when unknown
};

/// Asks hwloc for these processors; nothing where it was not built in or knows nothing of them. `synthetic` describes a
/// made-up machine, of which all processors are allowed unless `allowed` says otherwise.
/// Throws UsageError for a description that is not understood.
std::optional<Detected> detect_with_hwloc(const std::optional<std::vector<int>>& allowed, const std::string& synthetic);

/// The processors that any thread of this process may run on, or could when the library was loaded, ascending: whoever
/// asks first may be pinned already (by the program itself, or by OpenMP, which pins the main thread).
std::vector<int> processors_of_this_process();

}  // namespace penstock
