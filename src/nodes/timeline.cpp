#include "nodes/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "nodes/cluster_state.hpp"
#include "penstock/detail/machine/clock.hpp"
#include "penstock/machine.hpp"
#include "task/calls/core.hpp"
#include "task/calls/timeline_tracks.hpp"

namespace penstock::nodes {

using namespace std::chrono_literals;

namespace {

/// Of one node, in one frame: a fourth of the longest that is taken.
constexpr std::size_t most_events = std::size_t{1} << 20;

}  // namespace

void NodeClock::answered(std::uint64_t asked, std::uint64_t there, std::uint64_t now) {
    if (asked_ == 0 || asked != asked_ || asked > now)
        throw Error("a node says what time it is, and nobody has asked it");
    asked_ = 0;
    if (left_ == 0) return;
    --left_;
    auto& best = again_ ? last_ : first_;
    if (const auto trip = now - asked; trip < best.round_trip) best = {asked + trip / 2, there, trip};
}

std::uint64_t NodeClock::here(std::uint64_t there) const noexcept {
    const auto since = [](std::uint64_t tick, std::uint64_t from) {
        return static_cast<double>(static_cast<std::int64_t>(tick - from));
    };
    const bool both = first_.known() && last_.there > first_.there && last_.here > first_.here;
    const double pace = both ? since(last_.here, first_.here) / since(last_.there, first_.there) : 1;
    return last_.here + static_cast<std::uint64_t>(std::llround(since(there, last_.there) * pace));
}

std::uint64_t NodeClock::bound() const noexcept {
    const auto longest = first_.known() ? std::max(first_.round_trip, last_.round_trip) : last_.round_trip;
    return (longest + 1) / 2;
}

TimelinePart timeline_part_of(Machine& machine) {
    TimelinePart part;
    Core& core = Core::of(machine);
    std::set<std::uint32_t> ids;
    auto tracks = timeline_tracks(core);
    const auto most = std::max<std::size_t>(most_events / std::max<std::size_t>(tracks.size(), 1), 1);
    for (auto& [track, recording] : tracks) {
        if (const auto all = recording.events.size(); all > most) {  // the newest
            recording.events.erase(recording.events.begin(),
                                   recording.events.end() - static_cast<std::ptrdiff_t>(most));
            recording.dropped += all - most;
        }
        for (const auto& event : recording.events) ids.insert(event.id);
        std::get<0>(part).emplace_back(track.role == trace::Role::target, track.id, track.name, track.started,
                                       track.ended, std::move(recording.events), recording.dropped);
    }
    for (const auto id : ids) std::get<1>(part).emplace_back(id, core.timeline_name(id));
    return part;
}

trace::TimelineProcess process_of(const std::string& name, const TimelinePart& part, const NodeClock& clock) {
    trace::TimelineProcess made;
    made.name = name;
    char text[64];
    std::snprintf(text, sizeof text, "clock within %.1f us",
                  static_cast<double>(clock.bound()) * Clock::nanoseconds_per_tick() / 1e3);
    made.label = text;
    const auto here = [&](std::uint64_t tick) { return tick == 0 ? 0 : clock.here(tick); };
    for (const auto& [target, id, of, started, ended, events, dropped] : std::get<0>(part)) {
        auto& track = made.tracks.emplace_back();
        track.track = {target ? trace::Role::target : trace::Role::initiator, id, of, here(started), here(ended)};
        track.recording = {events, dropped};
        for (auto& event : track.recording.events) {
            event.begin = here(event.begin);
            event.end = here(event.end);
            event.issued = here(event.issued);
        }
    }
    const std::map<std::uint32_t, std::string> names(std::get<1>(part).begin(), std::get<1>(part).end());
    made.name_of = [names](std::uint32_t id) {
        const auto found = names.find(id);
        return found == names.end() ? std::string() : found->second;
    };
    return made;
}

trace::TimelineProcess process_of(Machine& program) {
    Core& core = Core::of(program);
    return {"program", "", timeline_tracks(core), [&core](std::uint32_t id) { return core.timeline_name(id); }};
}

// ---- the program ----

/// Under the lock.
void ClusterState::ask_clock(const Member& member) {
    const std::uint64_t now = Clock::ticks();
    if (clocks[static_cast<wire::Site>(member.node.site)].ask(now)) say_to(member, Control::ask_clock, {}, packed(now));
}

/// Under the lock. The node joins the recording that goes on.
void ClusterState::join_timeline(const Member& member) {
    if (timeline_events == 0 || member.spare) return;
    clocks[static_cast<wire::Site>(member.node.site)].begin(false);
    parts_asked.erase(static_cast<wire::Site>(member.node.site));  // its predecessor
    say_to(member, Control::start_timeline, {}, packed(timeline_events));
    ask_clock(member);
}

/// Under the lock; throws Error.
void ClusterState::take_clock(const Member& member, const ClockAnswer& answer) {
    const auto now = Clock::ticks();
    auto& clock = clocks[static_cast<wire::Site>(member.node.site)];
    const auto& [asked, there] = answer;
    clock.answered(asked, there, now);
    if (clock.asks()) ask_clock(member);
}

void ClusterState::start_timeline(std::uint64_t events) {
    const std::lock_guard alone(recording);
    machine.start_timeline(events);  // throws for a number that cannot be
    Locked guard(lock);
    timeline_events = events;
    for (const auto& [site, member] : members)
        if (member.state == Member::State::present) join_timeline(member);
    await_all(guard, [&](wire::Site site) { return !clocks[site].asks(); });
}

void ClusterState::stop_timeline() {
    machine.stop_timeline();
    const std::lock_guard guard(lock);
    timeline_events = 0;
    for (const auto& [site, member] : members)
        if (member.state == Member::State::present) say_to(member, Control::stop_timeline, {});
}

std::string ClusterState::timeline_json() {
    const std::lock_guard alone(recording);
    Locked guard(lock);
    parts.clear();
    for (const auto& [site, member] : members) {
        if (member.state != Member::State::present || member.spare) continue;
        clocks[site].begin(true);
        ask_clock(member);
        say_to(member, Control::take_timeline, {});
        parts_asked.insert(site);
    }
    await_all(guard, [&](wire::Site site) {
        return !parts_asked.contains(site) || (!clocks[site].asks() && parts.contains(site));
    });
    std::vector<trace::TimelineProcess> processes;
    for (const auto& [site, member] : members)
        if (const auto part = parts.find(site); part != parts.end() && clocks[site].known())
            processes.push_back(process_of(member.node.name, part->second, clocks[site]));
    parts.clear();
    parts_asked.clear();
    guard.unlock();
    processes.insert(processes.begin(), process_of(machine));
    return trace::perfetto_json(processes, Clock::nanoseconds_per_tick());
}

/// Waits for all nodes that are there; who dies meanwhile, or says nothing for long, is left out.
void ClusterState::await_all(Locked& guard, const std::function<bool(wire::Site)>& has) {
    const auto until = std::chrono::steady_clock::now() + options.patience;
    changed_something.wait_until(guard, until, [&] {
        return closing || std::ranges::all_of(members, [&](const auto& each) {
                   return each.second.state != Member::State::present || each.second.spare || has(each.first);
               });
    });
}

}  // namespace penstock::nodes

namespace penstock {

void Cluster::start_timeline(std::size_t events) { state_->start_timeline(events); }
void Cluster::stop_timeline() { state_->stop_timeline(); }
std::string Cluster::timeline_json() const { return state_->timeline_json(); }

}  // namespace penstock
