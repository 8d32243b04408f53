// What was measured, kept for later processes of this user. Nothing depends on it: whatever goes wrong, the answer is
// measured.
#pragma once

#include <filesystem>

#include "penstock/store_way.hpp"

namespace penstock {

/// One file, for one kind of machine.
class StoreWayFile {
  public:
    /// The file of this user for this machine. None where there is nothing to measure, or no folder for it.
    static std::optional<StoreWayFile> here();
    /// `machine` stands in the file, in one line: another machine's file is not taken.
    StoreWayFile(std::filesystem::path path, std::string machine)
        : path_(std::move(path)), machine_(std::move(machine)) {}

    const std::filesystem::path& path() const noexcept { return path_; }

    /// What the file says; nothing unless it is a plain file of this user that others cannot write, for this machine,
    /// whole, and was measured when a round trip to the reader took about as long as now (nanoseconds; within a factor
    /// of 1.5).
    std::optional<StoreWays> load(double round_trip) const;
    /// Replaces the file at one stroke, and makes its folder. False when that could not be done.
    bool save(const StoreWays& ways, double round_trip) const;

  private:
    /// `round_trip`: nanoseconds.
    std::string text_of(const StoreWays& ways, long round_trip) const;

    std::filesystem::path path_;
    std::string machine_;
};

}  // namespace penstock
