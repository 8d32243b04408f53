// A capacity that is automatic: how it follows the waiting at both ends.
#include "stream/run/link.hpp"

#include <algorithm>
#include <utility>

#include "stream/run/station.hpp"

namespace penstock::streaming {
namespace {

constexpr std::uint32_t turns_to_grow = 8;
constexpr std::uint32_t longest_patience = 4096;

}  // namespace

/// When the sink has run dry between two times that its producer had no room, both wait for one another in turn: room
/// for more buffers makes the turns longer. When it has not for many times, the sink sets the pace: a long queue only
/// takes the place of other data in the cache.
void Link::had_no_room() noexcept {
    const auto now = capacity.load(std::memory_order_relaxed);
    const auto bytes = sent_bytes - seen_taken_bytes;
    const auto dry = sink->ran_dry.load(std::memory_order_relaxed);
    if (std::exchange(seen_dry, dry) != dry) {
        full_in_a_row = 0;
        if (sent - seen_taken < now || now >= most_capacity || bytes * 2 > many_bytes) return;
        if (++turns < turns_to_grow) return;
        turns = 0;
        if (std::exchange(shrunk, false)) patience = std::min(patience * 2, longest_patience);
        capacity.store(std::min(now * 2, most_capacity), std::memory_order_relaxed);
        return;
    }
    turns = 0;
    if (bytes <= many_bytes || now <= least_capacity || ++full_in_a_row < patience) return;
    full_in_a_row = 0;
    shrunk = true;
    capacity.store(std::max(now / 2, least_capacity), std::memory_order_relaxed);
}

}  // namespace penstock::streaming
