// Where the time went: everything of the trace layer.
//
// A program that runs writes counters (always, counters.hpp) and timelines (only while somebody asked for one,
// timeline.hpp). Whoever reports takes a Snapshot, subtracts an earlier one (snapshot.hpp), and turns the difference
// into a Breakdown (breakdown.hpp), and that into a form that people or programs read: a table, stacked bars, JSON, a
// Perfetto timeline.
//
// All text is UTF-8 and does not depend on the locale. Names may hold anything: they are escaped, and bytes that are
// not UTF-8 come out as U+FFFD.
#pragma once

#include <cstdint>
#include <functional>
#include <penstock/detail/trace/breakdown.hpp>
#include <penstock/detail/trace/counters.hpp>
#include <penstock/detail/trace/snapshot.hpp>
#include <penstock/detail/trace/timeline.hpp>
#include <span>
#include <string>

namespace penstock::trace {

/// The breakdown as a table for a terminal: a line a track, time and percent of each part. A wall time marked with `~`
/// had its estimates scaled down.
std::string table(const Breakdown& breakdown);

/// The breakdown as stacked bars: a standalone SVG document, which may also be put into an HTML page as it is. It
/// follows the reader's light or dark colour scheme.
std::string bars_svg(const Breakdown& breakdown, const std::string& title = "Where the time went");

/// The breakdown as one JSON object for programs:
/// {"tracks": [{"role", "id", "name", "wall_seconds", "samples", "scaled", "shares": {part: {"seconds", "percent"}},
/// "counts": {counter: n}}]}. Parts and counters are named as in the headers, in snake_case.
std::string json(const Breakdown& breakdown);

/// What one thread recorded.
struct TimelineTrack {
    Track track;
    Recording recording;
};

/// Turns the id of an event into the name of the procedure; called once for each id that occurs.
using NameOf = std::function<std::string(std::uint32_t id)>;

/// The timeline as JSON that Perfetto (ui.perfetto.dev) and chrome://tracing open: a track for each thread in
/// the order given, times in microseconds since the earliest event. The args of each event hold what a replay needs:
/// id, issuer, target, issued_us, bytes_in, bytes_out. Throws UsageError when nanoseconds_per_tick is not above 0 and
/// at most 1e9. Costs about 200 bytes an event.
std::string perfetto_json(std::span<const TimelineTrack> tracks, double nanoseconds_per_tick, const NameOf& name_of);

}  // namespace penstock::trace
