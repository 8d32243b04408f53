// What the control groups of this process allow it: processors a second, memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace penstock::cgroup {

/// The tightest processor quota from the process's own group up to the root, as a number of processors; none without
/// one. Reads versions 1 and 2; `root` stands in for "/" in tests.
std::optional<double> processor_quota(const std::filesystem::path& root = "/");

/// Bytes that the tightest memory limit leaves, counting page cache as free; none without a limit.
std::optional<std::uint64_t> memory_left(const std::filesystem::path& root = "/");

}  // namespace penstock::cgroup
