#include "penstock/store_way.hpp"

#include <cstdlib>

#include "penstock/error.hpp"
#include "store/team/team.hpp"
#include "store/ways/store_way_file.hpp"
#include "store/ways/store_way_measure.hpp"

namespace penstock {

std::string_view name(StoreWay way) noexcept {
    switch (way) {
        case StoreWay::demote:
            return "demote";
        case StoreWay::stream:
            return "stream";
        default:
            return "plain";
    }
}

std::optional<StoreWay> store_way_of(std::string_view text) noexcept {
    for (const auto way : {StoreWay::plain, StoreWay::demote, StoreWay::stream})
        if (text == name(way)) return way;
    return std::nullopt;
}

namespace {

std::optional<StoreWays>& inherited() {
    static std::optional<StoreWays> ways;
    return ways;
}

/// From the user's file, or measured and written there.
StoreWays remembered(bool again) {
    const auto file = StoreWayFile::here();
    const auto round_trip = file ? measure_round_trip() : std::nullopt;
    if (!round_trip) return StoreWays::measure();
    if (!again)
        if (const auto known = file->load(*round_trip)) return *known;
    const auto found = StoreWays::measure();
    // A busy moment must not last: only what is found twice is kept for later processes.
    if (StoreWays::measure() == found) file->save(found, *round_trip);
    return found;
}

}  // namespace

namespace team {

void inherit(const StoreWays& ways) { inherited() = ways; }

}  // namespace team

const StoreWays& StoreWays::here() {
    static const StoreWays ways = [] {
        if (inherited()) return *inherited();
        const char* wish = std::getenv("PENSTOCK_STORES");
        if (wish == nullptr || *wish == '\0') return remembered(false);
        if (std::string_view(wish) == "measure") return remembered(true);
        const auto way = store_way_of(wish);
        if (!way)
            throw UsageError("PENSTOCK_STORES is '" + std::string(wish) +
                             "'; it takes plain, demote or stream, measure to do that again, or nothing for what "
                             "measured best");
        return StoreWays(*way);
    }();
    return ways;
}

std::string StoreWays::description() const {
    std::string text(name(smaller_));
    StoreWay last = smaller_;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (ways_[i] == last) continue;
        last = ways_[i];
        text += ", " + std::string(name(last)) + " from " + std::to_string(sizes[i] >> 10) + " KiB";
    }
    return text;
}

}  // namespace penstock
