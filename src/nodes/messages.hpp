// What the program and its agents say to one another, beside the frames of runs.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "penstock/carried.hpp"
#include "penstock/stream_statistics.hpp"
#include "penstock/trace.hpp"
#include "stream/far/far_run.hpp"
#include "wire/endpoint.hpp"

namespace penstock::nodes {

enum class Control : std::uint16_t {
    // agent to program
    present = streaming::number(streaming::FarKind::first_of_cluster),  ///< Present
    ready,                                                              ///< a run's part is made
    refused,                                                            ///< it cannot be made: text
    over,                                                               ///< a run's part has ended: Over
    fenced,                                                             ///< what has come from a dead node: Seen
    figures,                                                            ///< Figures
    log,                                                                ///< a line of what it printed
    unreachable,                                                        ///< a node, by this one
    team_ready,                                                         ///< a team's ranks can begin here
    team_refused,                                                       ///< they cannot: text
    rank_ended,                                                         ///< RankEnded
    clock,                                                              ///< an answer to `ask_clock`: ClockAnswer
    timeline,                                                           ///< an answer to `take_timeline`: TimelinePart
    counters,                                                           ///< an answer to `ask_counters`: CountersPart
    // program to agent
    peers,           ///< Peers
    part,            ///< of a run (part.hpp)
    begin,           ///< a run's sources may fire
    fence,           ///< a node has died
    replaced,        ///< another has taken its place: Replaced
    release,         ///< a run is over everywhere
    become,          ///< the agent is to be that node's: an invitation
    end,             ///< the agent is to end
    ask_clock,       ///< the program's tick
    start_timeline,  ///< how many events a thread
    stop_timeline,
    take_timeline,
    ask_counters,  ///< the number of the question
    team,          ///< ranks that are to run here: TeamPart
    team_begin,
    team_lost,       ///< a node of it has died
    team_interrupt,  ///< the program does not want its ranks to go on
    team_release,    ///< it is over everywhere
    last
};

/// Which run or team, or which site, a frame is about; in its head.
struct About {
    std::uint32_t run = 0;
    std::uint32_t site = 0;
    std::uint32_t generation = 0;
};

using Present = std::tuple<std::string, std::string, std::int64_t>;  ///< address, host, process
using Peer = std::tuple<std::uint32_t, std::uint32_t, std::string>;  ///< site, generation, address
using Peers = std::vector<Peer>;
using SeenOrders = std::vector<std::pair<std::uint64_t, streaming::Orders::Intervals>>;  ///< by stream
using Replaced = std::tuple<std::uint32_t, SeenOrders>;                                  ///< deaths of a buffer
using LostBuffers =
    std::vector<std::tuple<std::string, std::int64_t, std::uint64_t, std::string, std::uint64_t, std::uint64_t>>;
/// How a part ended: what a filter threw (text; empty: nothing), which filter, copy, firing; buffers lost.
using Over = std::tuple<std::string, std::string, std::int64_t, std::uint64_t, LostBuffers>;

/// Ranks; how long they wait for grants, in ns; whether they are pinned; nodes; a recipe of what they run.
using TeamPart = std::tuple<std::int64_t, std::int64_t, bool,
                            std::vector<std::tuple<std::uint32_t, std::uint32_t, std::string, std::int64_t>>,
                            std::string, std::string, std::vector<std::byte>>;
/// Rank, did it fail, was that a consequence, the text of the exception, what the program left.
using RankEnded = std::tuple<std::int64_t, bool, bool, std::string, std::vector<std::byte>>;

struct FilterFigures {
    std::uint64_t firings, failures, dropped, lost, made_again, waiting, held_back;
    std::int64_t copies;
    double rate, service_us, load, waits_for_input, waits_for_output, waits_for_target;
};
struct StreamFigures {
    std::uint64_t buffers, posted, right_behind, dropped;
    double rate, bytes_rate, capacity;
};
/// Whether anything moves.
struct Movement {
    std::uint64_t progress = 0, frames_sent = 0, frames_come = 0;
    std::uint64_t settled = 0;
};
using Figures = std::tuple<Movement, std::vector<std::pair<std::string, FilterFigures>>,
                           std::vector<std::tuple<std::string, std::string, StreamFigures>>, std::string>;

/// The tick that was asked with, and the agent's own.
using ClockAnswer = std::tuple<std::uint64_t, std::uint64_t>;
/// Is it a target's? Number, name, ticks of its begin and end; events, and how many older ones were dropped.
using CarriedTrack = std::tuple<bool, std::uint32_t, std::string, std::uint64_t, std::uint64_t,
                                std::vector<trace::Event>, std::uint64_t>;
/// Tracks, and the names of ids.
using TimelinePart = std::tuple<std::vector<CarriedTrack>, std::vector<std::pair<std::uint32_t, std::string>>>;

/// Is it a target's? Number, name, ticks of its begin and end; its counters in the order of trace/fields.hpp.
using CarriedCounters =
    std::tuple<bool, std::uint32_t, std::string, std::uint64_t, std::uint64_t, std::vector<std::uint64_t>>;
/// The number of the question; when they were read: ticks of how many nanoseconds; tracks.
using CountersPart = std::tuple<std::uint64_t, std::uint64_t, double, std::vector<CarriedCounters>>;

template <class T>
std::vector<std::byte> packed(const T& value) {
    carried::Encoder bytes;
    carried::encode(bytes, value);
    return bytes.all();
}
/// Throws Error.
template <class T>
T unpacked(std::span<const std::byte> bytes) {
    carried::Decoder from(bytes);
    auto value = carried::decode<T>(from);
    if (from.left() != 0) throw Error("what another process said is longer than it should be");
    return value;
}
inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
inline std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline void say(wire::Wire& to, Control what, const About& about, std::vector<std::byte> payload = {}) {
    to.put(wire::FrameHead::of(static_cast<std::uint16_t>(what), about), std::move(payload));
    to.flush();
}

}  // namespace penstock::nodes
