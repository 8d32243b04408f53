#include "penstock/store_way.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "penstock/error.hpp"
#include "process/fork.hpp"
#include "store/team/team.hpp"
#include "store/ways/store_way_file.hpp"
#include "store/ways/ways.hpp"

namespace penstock {

std::string_view name(StoreWay way) noexcept {
    static constexpr std::array<std::string_view, 3> names{"plain", "demote", "stream"};
    return names[static_cast<std::size_t>(way)];
}

std::optional<StoreWay> store_way_of(std::string_view text) noexcept {
    for (const auto way : {StoreWay::plain, StoreWay::demote, StoreWay::stream})
        if (text == name(way)) return way;
    return std::nullopt;
}

namespace {

constinit ProcessMutex knowing;
constinit std::optional<StoreWays> known;                    ///< written once, under the mutex
constinit std::atomic<const StoreWays*> published{nullptr};  ///< null while nothing is known

const StoreWays& know(const StoreWays& ways) {
    published.store(&known.emplace(ways), std::memory_order_release);
    return *known;
}

/// From the user's file, or measured and written there.
StoreWays remembered(bool again) {
    const auto file = StoreWayFile::here();
    const auto round_trip = file ? measure_round_trip() : std::nullopt;
    if (!round_trip) return StoreWays::measure();
    if (!again)
        if (const auto kept = file->load(*round_trip)) return *kept;
    const auto found = StoreWays::measure();
    // A busy moment must not last: only what is found twice is kept for later processes.
    if (StoreWays::measure() == found) file->save(found, *round_trip);
    return found;
}

StoreWays wanted() {
    const char* wish = std::getenv("PENSTOCK_STORES");
    if (wish == nullptr || *wish == '\0') return remembered(false);
    if (std::string_view(wish) == "measure") return remembered(true);
    if (const auto way = store_way_of(wish)) return StoreWays(*way);
    throw UsageError(
        "PENSTOCK_STORES is '" + std::string(wish) +
        "'; it takes plain, demote or stream, measure to do that again, or nothing for what measured best");
}

}  // namespace

void team::inherit(const StoreWays& ways) {
    const std::lock_guard lock(knowing);
    if (!known) know(ways);
}

const StoreWays& StoreWays::here() {
    if (const auto* ways = published.load(std::memory_order_acquire)) return *ways;
    const std::lock_guard lock(knowing);  // a fork waits until it is known: no child finds it half measured
    return known ? *known : know(wanted());
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
