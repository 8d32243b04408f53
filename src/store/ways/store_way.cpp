#include "penstock/store_way.hpp"

#include <algorithm>
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
/// The same for readers at the other distance, and how often they may still be measured.
constinit std::optional<StoreWays> known_elsewhere;
constinit std::atomic<const StoreWays*> published_elsewhere{nullptr};
#if defined(__SANITIZE_THREAD__)
constexpr int most_attempts = 0;  // each would take seconds, in the middle of somebody's store
#else
constexpr int most_attempts = 3;
#endif
constinit std::atomic<int> attempts_left{most_attempts};

const StoreWays& know(const StoreWays& ways) {
    published.store(&known.emplace(ways), std::memory_order_release);
    return *known;
}

/// A busy moment must not last: what is kept is what was found twice, but for two sizes, where two ways may be equal:
/// these go plain.
bool agree(const StoreWays& a, const StoreWays& b) {
    const auto differ = [&](std::size_t bytes) { return a.of(bytes) != b.of(bytes); };
    return std::ranges::count_if(StoreWays::sizes, differ) <= 2;
}

/// From the user's file, or measured and written there. Plain, and not written, where the processors are too busy.
StoreWays remembered(bool again) {
    const auto file = StoreWayFile::here();
    const auto round_trip = file ? measure_round_trip() : std::nullopt;
    if (round_trip && !again)
        if (const auto kept = file->load(*round_trip)) return *kept;
    auto found = StoreWays::measure();
    for (int attempts = 3; attempts > 0 && found; --attempts) {
        const auto once_more = StoreWays::measure();
        if (once_more && agree(*found, *once_more)) {
            const auto agreed = once_more->where_agreed(*found);
            if (round_trip) file->save(agreed, *round_trip);
            return agreed;
        }
        found = once_more;  // the processors may have moved between the two
    }
    return found.value_or(StoreWays{});
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

/// How many times nearer or farther than what these were measured with.
static double apart(const StoreWays& ways, double line_time) {
    return std::max(line_time / ways.line_time(), ways.line_time() / line_time);
}
/// About the distance that these were measured at? On one chip 34 ns, or 20 where the line has left the reader's own
/// caches; on two 115 and more.
static bool suits(const StoreWays& ways, double line_time) { return apart(ways, line_time) < 1.8; }

/// The ways at the other distance; null where they cannot be told.
static const StoreWays* elsewhere(double line_time) {
    if (const auto* ways = published_elsewhere.load(std::memory_order_acquire)) return ways;
    if (attempts_left.load(std::memory_order_relaxed) <= 0) return nullptr;
    const std::lock_guard lock(knowing);
    if (known_elsewhere) return &*known_elsewhere;
    if (attempts_left.fetch_sub(1, std::memory_order_relaxed) <= 0) return nullptr;
    // Another rank may be measuring, too, or the processors have moved back.
    const auto found = StoreWays::measure(), again = found ? StoreWays::measure() : std::nullopt;
    if (!again || !suits(*found, line_time) || !suits(*again, line_time) || !agree(*found, *again)) return nullptr;
    published_elsewhere.store(&known_elsewhere.emplace(again->where_agreed(*found)), std::memory_order_release);
    return &*known_elsewhere;
}

WaysAt ways_for_line_time(double line_time) {
    const StoreWays& here = StoreWays::here();
    if (suits(here, line_time)) return {&here, 1};
    const auto* other = elsewhere(line_time);
    if (other == nullptr) return {&here, line_time / here.line_time()};
    return {apart(*other, line_time) < apart(here, line_time) ? other : &here, 1};
}

StoreWays StoreWays::where_agreed(const StoreWays& other) const noexcept {
    StoreWays agreed = *this;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (of(sizes[i]) != other.of(sizes[i])) agreed.choices_[i].from = never;
    return agreed;
}

std::string StoreWays::description() const {
    std::string text(name(smaller_));
    StoreWay last = smaller_;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (of(sizes[i]) == last) continue;
        last = of(sizes[i]);
        text += ", " + std::string(name(last)) + " from " +
                (sizes[i] < 1024 ? std::to_string(sizes[i]) + " B" : std::to_string(sizes[i] >> 10) + " KiB");
    }
    return text;
}

}  // namespace penstock
