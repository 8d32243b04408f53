// The memory that a messenger has allotted to its user for sending from (detail/message/memory.hpp). A segment is
// granted to a peer when something is first sent to it from there, and used again when its user has let go of it, so
// that peers map few of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "penstock/rank.hpp"

namespace penstock::message {

inline constexpr std::uint64_t segment_kind = 0x3147455347534d50;  // "PMSGSEG1"
inline constexpr std::uint64_t most_segments = std::uint64_t{1} << 20;

/// The name under which a peer accepts a segment of the messenger of this name.
std::string segment_name(const std::string& messenger, std::uint64_t number);

class Segments {
  public:
    Segments(Rank me, std::string messenger) : me_(me), messenger_(std::move(messenger)) {}

    /// A segment of at least `bytes`. Throws UsageError, SystemError.
    std::byte* take(std::size_t bytes);
    void give_back(std::byte* data);

    struct Location {
        std::uint64_t number;
        std::uint64_t offset;
    };
    /// Where these bytes lie, if they lie in a segment.
    std::optional<Location> find(const std::byte* data, std::uint64_t bytes) const;
    /// Lets this peer accept the segment. Throws RankLost when it is gone, SystemError.
    void grant(std::uint64_t number, int peer);

  private:
    struct Segment {
        RankMemory memory;
        std::vector<bool> granted;
    };
    Rank me_;
    std::string messenger_;
    std::vector<Segment> segments_;
    std::map<const std::byte*, std::uint64_t> by_address_;
    std::multimap<std::size_t, std::uint64_t> free_;  ///< by size
};

}  // namespace penstock::message
