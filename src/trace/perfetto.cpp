// Timelines in the JSON trace event format: complete events ("X"), one thread id a track, microseconds.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <penstock/trace.hpp>
#include <unordered_map>

#include "trace/fields.hpp"
#include "trace/processes.hpp"
#include "trace/text.hpp"

namespace penstock::trace {

namespace {

/// A kind of event: its category, and for what a task does what stands before the name of its procedure.
struct Kind {
    const char* word;
    const char* before = nullptr;
};
constexpr std::array<Kind, 8> kinds{{{"task", ""},
                                     {"wait"},
                                     {"stall"},
                                     {"idle"},
                                     {"fetch", "fetch "},
                                     {"write-back", "write back "},
                                     {"late", "late "},
                                     {"firing", ""}}};

Kind kind_of(const Event& event) noexcept {
    const auto index = static_cast<std::size_t>(event.kind);
    return index < kinds.size() ? kinds[index] : Kind{"unknown"};
}

/// Ticks as whole nanoseconds since the earliest one. Begin and end are rounded, never a duration, so that periods
/// which lie within one another still do so in the file.
class Clock {
  public:
    explicit Clock(double nanoseconds_per_tick) : factor_(checked_tick(nanoseconds_per_tick)) {}

    void cover(std::span<const TimelineTrack> tracks) {
        for (const TimelineTrack& each : tracks)
            for (const Event& event : each.recording.events)
                origin_ = std::min({origin_, event.begin, event.issued != 0 ? event.issued : none});
    }

    std::uint64_t nanoseconds(std::uint64_t tick) const noexcept {
        const double since = tick > origin_ ? static_cast<double>(tick - origin_) : 0;
        return static_cast<std::uint64_t>(std::llround(std::min(since * factor_, 9e18)));
    }

    std::uint64_t origin() const noexcept { return origin_ == none ? 0 : origin_; }

  private:
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

    double factor_;
    std::uint64_t origin_ = none;
};

std::string microseconds(std::uint64_t nanoseconds) {
    const std::string rest = std::to_string(nanoseconds % 1000);
    return std::to_string(nanoseconds / 1000) + '.' + std::string(3 - rest.size(), '0') + rest;
}

std::string start_of(const char* kind, const std::string& process, std::size_t thread) {
    return std::string(",\n{\"ph\":\"") + kind + "\",\"pid\":" + process + ",\"tid\":" + std::to_string(thread);
}

std::string event_json(const Event& event, const std::string& process, std::size_t thread, const Clock& clock,
                       const NameOf& procedure) {
    const std::uint64_t begin = clock.nanoseconds(event.begin);
    const std::uint64_t end = std::max(begin, clock.nanoseconds(event.end));
    const auto [word, before] = kind_of(event);
    const auto name = json_text(before != nullptr ? before + procedure(event.id) : word);
    return start_of("X", process, thread) + ",\"name\":" + name + ",\"cat\":\"" + word +
           "\",\"ts\":" + microseconds(begin) + ",\"dur\":" + microseconds(end - begin) +
           ",\"args\":{\"id\":" + std::to_string(event.id) + ",\"issuer\":" + std::to_string(event.issuer) +
           ",\"target\":" + std::to_string(event.target) +
           (event.issued != 0 ? ",\"issued_us\":" + microseconds(clock.nanoseconds(event.issued)) : "") +
           ",\"bytes_in\":" + std::to_string(event.bytes_in) + ",\"bytes_out\":" + std::to_string(event.bytes_out) +
           "}}";
}

void add_track(std::string& out, const TimelineTrack& each, const std::string& process, std::size_t thread,
               const Clock& clock, const NameOf& procedure) {
    const std::string start = start_of("M", process, thread) + ",\"name\":";
    const char* const role = each.track.role == Role::initiator ? "initiator" : "target";
    out += start + "\"thread_name\",\"args\":{\"name\":" + json_text(each.track.name) + ",\"role\":\"" + role +
           "\",\"id\":" + std::to_string(each.track.id) + "}}";
    out += start + "\"thread_sort_index\",\"args\":{\"sort_index\":" + std::to_string(thread) + "}}";
    // An outer period before the inner ones that begin with it: the format wants it so.
    std::vector<Event> events = each.recording.events;
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    if (each.recording.dropped != 0 && !events.empty())
        out += start_of("i", process, thread) + ",\"s\":\"t\",\"name\":\"" + std::to_string(each.recording.dropped) +
               " earlier events dropped\",\"ts\":" + microseconds(clock.nanoseconds(events.front().begin)) + '}';
    for (const Event& event : events) out += event_json(event, process, thread, clock, procedure);
}

void add_process(std::string& out, const TimelineProcess& each, const std::string& number, const Clock& clock) {
    std::unordered_map<std::uint32_t, std::string> names;  // asked for once an id
    const auto procedure = [&](std::uint32_t id) {
        const auto [known, fresh] = names.try_emplace(id);
        if (fresh && each.name_of) known->second = each.name_of(id);
        if (known->second.empty()) known->second = "procedure " + std::to_string(id);
        return known->second;
    };
    const auto about = [&](const char* what, const char* key, const std::string& text) {
        return "{\"ph\":\"M\",\"pid\":" + number + ",\"tid\":0,\"name\":\"" + what + "\",\"args\":{\"" + key +
               "\":" + text + "}}";
    };
    out += about("process_name", "name", json_text(each.name));
    if (!each.label.empty()) out += ",\n" + about("process_labels", "labels", json_text(each.label));
    std::size_t thread = 0;
    for (const TimelineTrack& track : each.tracks) add_track(out, track, number, ++thread, clock, procedure);
}

}  // namespace

std::string perfetto_json(std::span<const TimelineTrack> tracks, double nanoseconds_per_tick, const NameOf& name_of) {
    const TimelineProcess one{"Penstock", "", {tracks.begin(), tracks.end()}, name_of};
    return perfetto_json({&one, 1}, nanoseconds_per_tick);
}

std::string perfetto_json(std::span<const TimelineProcess> processes, double nanoseconds_per_tick) {
    Clock clock(nanoseconds_per_tick);
    std::uint64_t dropped = 0;
    for (const TimelineProcess& process : processes) {
        clock.cover(process.tracks);
        for (const TimelineTrack& each : process.tracks) dropped += each.recording.dropped;
    }
    // 64-bit ticks do not fit every reader's numbers, so the origin is text.
    std::string out =
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"nanoseconds_per_tick\":" + exact(nanoseconds_per_tick) +
        ",\"origin_tick\":\"" + std::to_string(clock.origin()) + "\",\"dropped\":" + std::to_string(dropped) +
        "},\n\"traceEvents\":[\n";
    std::size_t number = 0;
    for (const TimelineProcess& process : processes) {
        if (number != 0) out += ",\n";
        add_process(out, process, std::to_string(++number), clock);
    }
    return out += "\n]}\n";
}

}  // namespace penstock::trace
