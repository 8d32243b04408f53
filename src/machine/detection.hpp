// What can be found out about the hardware.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

}  // namespace penstock
